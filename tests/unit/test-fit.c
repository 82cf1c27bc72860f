/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl shortens cells so that tables fit into the terminal. */
#include <locale.h>

#include "ctl/print.h"
#include "support/cases.h"

/* U+65E5 takes two columns, U+0301 none. */
TEST(test_text, "/fit/text") {
        static const struct {
                const char *text;
                size_t width;
                const char *expected;
        } cases[] = {
                { "", 8, "" },
                { "abcdefgh", 8, "abcdefgh" },
                { "abcdefghi", 8, "abc…fghi" },
                { "abcdefghi", 9, "abcdefghi" },
                { "abcdefghij", 9, "abcd…ghij" },
                { "/var/lib/kubelet/pods/A/volumes/v", 16, "/var/li…olumes/v" },
                { "日日日日", 8, "日日日日" },
                { "日日日日日", 8, "日…日日" },
                { "e\u0301bcdefgh", 8, "e\u0301bcdefgh" },
                { "abcdefg\xff"
                  "h",
                  8,
                  "abc…fg\xff"
                  "h" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = text_fit(cases[i].text, cases[i].width);

                g_assert_cmpstr(text, ==, cases[i].expected);
                g_assert_cmpuint(text_width(text), <=, cases[i].width);
        }
}

void add_tests(void) {
        g_assert_nonnull(setlocale(LC_ALL, "C.UTF-8"));
        g_test_set_nonfatal_assertions();
}

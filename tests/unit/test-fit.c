/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl shortens cells so that tables fit into the terminal. */
#include <locale.h>

#include "ctl/fit.h"
#include "support/cases.h"

TEST(test_columns, "/fit/columns") {
        static const struct {
                size_t widths[3];
                bool may_shorten[3];
                size_t width, expected[3];
        } cases[] = {
                { { 5, 5, 5 }, { true, true, true }, 17, { 5, 5, 5 } },
                { { 20, 20, 20 }, { true, true, true }, 62, { 20, 20, 20 } },
                { { 20, 20, 20 }, { true, true, true }, 60, { 19, 19, 20 } },
                { { 20, 40, 30 }, { true, true, true }, 62, { 20, 20, 20 } },
                { { 20, 40, 30 }, { true, false, true }, 72, { 15, 40, 15 } },
                { { 20, 40, 30 }, { false, false, false }, 10, { 20, 40, 30 } },
                { { 9, 10, 7 }, { true, true, true }, 0, { 8, 8, 7 } },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                size_t widths[3];

                memcpy(widths, cases[i].widths, sizeof(widths));
                fit_columns(widths, cases[i].may_shorten, 3, cases[i].width);
                for (size_t k = 0; k < 3; k++)
                        g_assert_cmpuint(widths[k], ==, cases[i].expected[k]);
        }
}

/* U+65E5 takes two columns, U+0301 none. */
TEST(test_text, "/fit/text") {
        static const struct {
                const char *text;
                size_t width;
                const char *beginning, *end;
        } cases[] = {
                { "", 8, "", "" },
                { "abcdefgh", 8, "abcdefgh", "abcdefgh" },
                { "abcdefghi", 8, "abcdefg…", "…cdefghi" },
                { "日日日日", 8, "日日日日", "日日日日" },
                { "日日日日日", 8, "日日日…", "…日日日" },
                { "e\u0301bcdefgh", 8, "e\u0301bcdefgh", "e\u0301bcdefgh" },
                { "abcdefg\xff"
                  "h",
                  8, "abcdefg…",
                  "…cdefg\xff"
                  "h" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *beginning = fit_beginning(cases[i].text, cases[i].width),
                                *end = fit_end(cases[i].text, cases[i].width);

                g_assert_cmpstr(beginning, ==, cases[i].beginning);
                g_assert_cmpstr(end, ==, cases[i].end);
        }
}

void add_tests(void) {
        g_assert_nonnull(setlocale(LC_ALL, "C.UTF-8"));
        g_test_set_nonfatal_assertions();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "basic/string-util.h"
#include "support.h"

TEST(test_escape, "/string/escape") {
        static const struct {
                const char *in;
                size_t max;
                const char *out;
        } cases[] = {
                { "", 10, "" },
                { "plain text", 80, "plain text" },
                { "a\nb\tc\r", 80, "a\\x0ab\\x09c\\x0d" },
                { "\033[2Jx", 80, "\\x1b[2Jx" },
                { "\177", 80, "\\x7f" },
                { "back\\slash", 80, "back\\x5cslash" },
                { "quote\"", 80, "quote\"" },
                { "grün €", 80, "grün €" },
                { "\360\237\230\200", 80, "\360\237\230\200" },
                { "\344", 80, "\\xe4" },            /* Latin-1 */
                { "\302\200x", 80, "\\xc2\\x80x" }, /* C1 control character */
                { "\302\233"
                  "31m",
                  80, "\\xc2\\x9b31m" },                       /* CSI in one character */
                { "\302\240", 80, "\\xc2\\xa0" },              /* no-break space, which looks like a blank */
                { "a\342\200\256b", 80, "a\\xe2\\x80\\xaeb" }, /* right-to-left override */
                { "\342\200\213", 80, "\\xe2\\x80\\x8b" },     /* zero-width space */
                { "\357\273\277", 80, "\\xef\\xbb\\xbf" },     /* byte-order mark */
                { "\342\200\246", 80, "\342\200\246" },        /* ellipsis */
                { "\300\257", 80, "\\xc0\\xaf" },              /* overlong '/' */
                { "\355\240\200", 80, "\\xed\\xa0\\x80" },     /* surrogate */
                { "\342\202", 80, "\\xe2\\x82" },              /* cut off */
                { "abcdef", 3, "abc..." },
                { "abc", 3, "abc" },
                { "ab€", 3, "ab..." }, /* a cut is between characters */
                { "abc", 0, "..." },
                { "\n\n\n", 1, "\\x0a..." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *escaped = string_escape(cases[i].in, cases[i].max);

                g_assert_cmpstr(escaped, ==, cases[i].out);
                g_assert_true(utf8_is_valid(escaped));
        }
}

/* Characters that nobody sees, or that look like a blank; and others beside them. */
TEST(test_hidden, "/string/hidden") {
        static const gunichar hidden[] = { 0x00a0, 0x00ad, 0x034f, 0x061c,  0x115f,  0x1680,  0x17b4, 0x180e,
                                           0x2003, 0x200b, 0x202e, 0x2060,  0x2800,  0x3000,  0x3164, 0xfe0f,
                                           0xfeff, 0xffa0, 0xfff9, 0x1bca1, 0x1d175, 0xe0041, 0xe01ef },
                              shown[] = { 0x00a1, 0x00fc, 0x0436, 0x1161,  0x2010, 0x2070,
                                          0x3001, 0x4e2d, 0xfe10, 0x1f600, 0xe1000 };

        for (gsize i = 0; i < G_N_ELEMENTS(hidden) + G_N_ELEMENTS(shown); i++) {
                const gboolean is_shown = i >= G_N_ELEMENTS(hidden);
                const gunichar c = is_shown ? shown[i - G_N_ELEMENTS(hidden)] : hidden[i];
                char text[8] = "a";

                text[1 + g_unichar_to_utf8(c, text + 1)] = '\0';
                _cleanup_free_ char *escaped = string_escape(text, 80);
                g_test_message("U+%04X", c);
                g_assert_cmpint(text_is_clean(text), ==, is_shown);
                g_assert_cmpint(g_str_equal(escaped, text), ==, is_shown);
        }
}

TEST(test_make_clean, "/string/make-clean") {
        _cleanup_free_ char *clean = text_make_clean("a\nb \\x0a \342\200\256 \374 grün");

        g_assert_cmpstr(clean, ==, "a\\x0ab \\x0a \\xe2\\x80\\xae \\xfc grün");
}

TEST(test_join_lines, "/string/join-lines") {
        char text[] = "a\nb\\x0a\n";

        g_assert_cmpstr(text_join_lines(text), ==, "a b\\x0a ");
        g_assert_null(text_join_lines(NULL));
}

TEST(test_quote, "/string/quote") {
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "", "''" },
                { "/srv/a-b_c.d,e:f@g%h+i=j", "/srv/a-b_c.d,e:f@g%h+i=j" },
                { "/a b", "'/a b'" },
                { "/a;reboot", "'/a;reboot'" },
                { "/$(reboot)", "'/$(reboot)'" },
                { "~", "'~'" },
                { "/it's", "'/it'\\''s'" },
                { "/année", "'/année'" },
                { "/a\\", "$'/a\\x5c'" },
                { "/a\n'b'", "$'/a\\x0a\\'b\\''" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *quoted = shell_quote(cases[i].in);

                g_assert_cmpstr(quoted, ==, cases[i].out);
        }
}

/* A shell reads the quoted text as the original. */
TEST(test_quote_in_shell, "/string/quote/in-shell") {
        for (int c = 1; c < 256; c++) {
                const char in[] = { '/', (char) c, '1', '\'', (char) c, 0 };
                _cleanup_free_ char *quoted = shell_quote(in);
                g_autofree char *script = g_strdup_printf("printf %%s %s", quoted), *out = NULL;
                const char *argv[] = { "bash", "-c", script, NULL };

                g_assert_true(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL,
                                           NULL, NULL));
                g_assert_cmpstr(out, ==, in);
        }
}

/* Any two bytes become one line of valid text. */
TEST(test_escape_any_byte, "/string/escape-any-byte") {
        for (int a = 1; a < 256; a++)
                for (int b = 1; b < 256; b++) {
                        char in[] = { (char) a, (char) b, 0 };
                        _cleanup_free_ char *escaped = string_escape(in, 80);

                        g_assert_true(g_utf8_validate(escaped, -1, NULL));
                        for (const char *p = escaped; *p; p++)
                                g_assert_true((unsigned char) *p >= 0x20 && *p != 0x7f);
                }
}

/* One byte becomes at most four, and the function reads no byte beyond the limit. */
TEST(test_escape_limit, "/string/escape-limit") {
        char in[64];

        memset(in, '\001', sizeof(in)); /* there is no NUL */
        for (size_t max = 0; max < sizeof(in) - 1; max++) {
                _cleanup_free_ char *escaped = string_escape(in, max);

                g_assert_cmpuint(strlen(escaped), ==, 4 * max + 3);
        }
}

TEST(test_utf8, "/string/utf8") {
        static const char *const good[] = {
                "", "a", "ä", "€", "\360\237\230\200", "\364\217\277\275", "\357\277\275", "\177"
        };
        static const char *const bad[] = {
                "\200",             /* continuation alone */
                "\300\200",         /* overlong NUL */
                "\301\277",         /* overlong */
                "\340\200\257",     /* overlong */
                "\360\200\200\257", /* overlong */
                "\355\240\200",     /* surrogates */
                "\355\277\277",
                "\364\220\200\200", /* beyond U+10FFFF */
                "\365\200\200\200",
                "\377",
                "\357\267\220", /* noncharacters: U+FDD0, U+FDEF, U+FFFE, U+FFFF, U+10FFFF */
                "\357\267\257",
                "\357\277\276",
                "\357\277\277",
                "\364\217\277\277",
                "a\303", /* cut off */
                "a\342\202",
                "a\360\237\230",
                "\303a",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                g_assert_true(utf8_is_valid(good[i]));
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_false(utf8_is_valid(bad[i]));
}

/* U+FDD0 to U+FDEF, U+FFFE and U+FFFF are noncharacters of three bytes. */
static bool is_noncharacter(const char *s) {
        return (startswith(s, "\357\267") && (unsigned char) s[2] >= 0x90 && (unsigned char) s[2] <= 0xaf) ||
               streq(s, "\357\277\276") || streq(s, "\357\277\277");
}

/* GLib judges all sequences of three bytes with these first bytes in the same way, but it accepts
 * noncharacters, which sd-bus refuses. */
TEST(test_utf8_against_glib, "/string/utf8-against-glib") {
        static const unsigned char first[] = {
                0x7f, 0x80, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf4, 0xff
        };

        for (size_t i = 0; i < sizeof(first); i++)
                for (int b = 1; b < 256; b++)
                        for (int c = 1; c < 256; c++) {
                                char s[] = { (char) first[i], (char) b, (char) c, 0 };

                                g_assert_true(utf8_is_valid(s) ==
                                              (g_utf8_validate(s, -1, NULL) && !is_noncharacter(s)));
                        }
}

TEST(test_utf8_length_within, "/string/utf8-length-within") {
        static const struct {
                const char *in;
                size_t max, length;
        } cases[] = {
                { "", 4, 0 },    { "ab", 4, 2 },  { "ab", 2, 2 },  { "ab", 1, 1 }, { "a€b", 1, 1 },
                { "a€b", 2, 1 }, { "a€b", 3, 1 }, { "a€b", 4, 4 }, { "€", 2, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpuint(utf8_length_within(cases[i].in, cases[i].max), ==, cases[i].length);
}

TEST(test_parse_u64, "/string/parse-u64") {
        static const struct {
                const char *in;
                int r;
                unsigned long long out;
        } cases[] = {
                { "0", 0, 0 },
                { "20", 0, 20 },
                { "18446744073709551615", 0, ULLONG_MAX },
                { "18446744073709551616", -ERANGE, 0 },
                { "18446744073709551620", -ERANGE, 0 },
                { "99999999999999999999999", -ERANGE, 0 },
                { "", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "+1", -EINVAL, 0 },
                { " 1", -EINVAL, 0 },
                { "1 ", -EINVAL, 0 },
                { "0x10", -EINVAL, 0 },
                { "1.5", -EINVAL, 0 },
                { "ten", -EINVAL, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                unsigned long long v = 42;

                g_assert_cmpint(parse_u64(cases[i].in, &v), ==, cases[i].r);
                g_assert_cmpuint(v, ==, cases[i].r == 0 ? cases[i].out : 42);
        }
        g_assert_cmpint(parse_u64(NULL, &(unsigned long long){ 0 }), ==, -EINVAL);
}

TEST(test_parse_boolean, "/string/parse-boolean") {
        static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off", "0" },
                                 *const neither[] = { "", "Yes", "y", "2", "yes ", "maybe", "truee" };

        for (size_t i = 0; i < G_N_ELEMENTS(yes); i++)
                g_assert_cmpint(parse_boolean(yes[i]), ==, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(no); i++)
                g_assert_cmpint(parse_boolean(no[i]), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(neither); i++)
                g_assert_cmpint(parse_boolean(neither[i]), ==, -EINVAL);
        g_assert_cmpint(parse_boolean(NULL), ==, -EINVAL);
}

TEST(test_strv, "/string/strv") {
        _cleanup_strv_ char **a = NULL, **b = NULL, **empty = NULL;
        _cleanup_free_ char *joined = NULL, *nothing = NULL;

        g_assert_cmpint(strv_split("  a \t b  c ", " \t", &a), ==, 0);
        g_assert_cmpuint(strv_length(a), ==, 3);
        g_assert_true(strv_contains(a, "b"));
        g_assert_false(strv_contains(a, "B"));
        g_assert_false(strv_contains(NULL, "b"));

        g_assert_cmpint(strv_copy(a, &b), ==, 0);
        g_assert_true(strv_equal(a, b));
        g_assert_cmpint(strv_extend(&b, "d"), ==, 0);
        g_assert_false(strv_equal(a, b));
        g_assert_false(strv_equal(b, a));
        g_assert_true(strv_equal(NULL, NULL));

        joined = strv_join(b, ", ");
        g_assert_cmpstr(joined, ==, "a, b, c, d");
        nothing = strv_join(NULL, ", ");
        g_assert_cmpstr(nothing, ==, "");

        g_assert_cmpint(strv_split("", " ", &empty), ==, 0);
        g_assert_cmpuint(strv_length(empty), ==, 0);
        g_assert_true(strv_equal(empty, NULL));
        g_assert_cmpint(strv_consume(&empty, NULL), ==, -ENOMEM);
}

TEST(test_small_ones, "/string/small-ones") {
        _cleanup_free_ char *s = NULL;

        g_assert_true(streq_ptr(NULL, NULL));
        g_assert_false(streq_ptr("", NULL));
        g_assert_true(streq_ptr("a", "a"));
        g_assert_cmpstr(startswith("context=x", "context="), ==, "x");
        g_assert_null(startswith("contex", "context="));
        g_assert_true(isempty(NULL) && isempty("") && !isempty("a"));

        g_assert_cmpint(free_and_strdup(&s, "a"), ==, 0);
        g_assert_cmpint(free_and_strdup(&s, s), ==, 0);
        g_assert_cmpstr(s, ==, "a");
        g_assert_cmpint(free_and_strdup(&s, NULL), ==, 0);
        g_assert_null(s);
}

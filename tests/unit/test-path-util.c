/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "basic/path-util.h"
#include "support.h"

TEST(test_normalized, "/path/normalized") {
        static const char *const good[] = { "/",
                                            "/a",
                                            "/a/b",
                                            "/a/.b",
                                            "/a/..b",
                                            "/a/b..",
                                            "/a/...",
                                            "/a b/c",
                                            "/grün",
                                            "/a/b\\c",
                                            "/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/v/mount" };
        static const char *const bad[] = {
                "",           "a",
                "a/b",        "./a",
                "..",         ".",
                "//",         "//a",
                "/a/",        "/a//b",
                "/./a",       "/a/.",
                "/a/./b",     "/..",
                "/../a",      "/a/..",
                "/a/../b",    "/a\n",
                "/a/\033[2J", "/\177",
                "/\344",      "/a/\300\256\300\256/b",
                " /a",        "/a\302\233b",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                g_assert_true(path_is_normalized(good[i]));
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                if (path_is_normalized(bad[i]))
                        g_error("'%s' counts as normalized", bad[i]);
        }
}

TEST(test_make_clean, "/path/make-clean") {
        static const char *const cases[][2] = {
                { "/", "/" },
                { "//", "/" },
                { "/.", "/" },
                { "/a/", "/a" },
                { "/a//b/./", "/a/b" },
                { "/./a", "/a" },
                { "/a/../b", "/a/../b" },
                { "/.a/b./..c", "/.a/b./..c" },
                { ".", "/usr" },
                { "./a/", "/usr/a" },
                { "a//b", "/usr/a/b" },
                { "../a", "/usr/../a" },
        };
        g_autofree char *before = g_get_current_dir();

        g_assert_cmpint(chdir("/usr"), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *clean = path_make_clean(cases[i][0]);

                g_assert_cmpstr(clean, ==, cases[i][1]);
        }
        g_assert_cmpint(chdir("/"), ==, 0);
        _cleanup_free_ char *in_root = path_make_clean("a");

        g_assert_cmpstr(in_root, ==, "/a");
        g_assert_cmpint(chdir(before), ==, 0);
}

TEST(test_length, "/path/length") {
        g_autofree char *fits = g_strnfill(PATH_MAX - 1, 'a'), *too_long = g_strnfill(PATH_MAX, 'a');

        fits[0] = too_long[0] = '/';
        g_assert_true(path_is_normalized(fits));
        g_assert_false(path_is_normalized(too_long));
}

TEST(test_beneath, "/path/beneath") {
        g_assert_true(path_is_beneath("/a/b", "/a"));
        g_assert_true(path_is_beneath("/a/b/c", "/a"));
        g_assert_true(path_is_beneath("/a", "/"));
        g_assert_false(path_is_beneath("/a", "/a"));
        g_assert_false(path_is_beneath("/", "/"));
        g_assert_false(path_is_beneath("/ab", "/a"));
        g_assert_false(path_is_beneath("/ab/c", "/a"));
        g_assert_false(path_is_beneath("/a-b/c", "/a"));
        g_assert_false(path_is_beneath("/a", "/a/b"));
        g_assert_false(path_is_beneath("/b/a", "/a"));
        g_assert_false(path_is_beneath("/", "/a"));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "support/cases.h"

TEST(test_levels, "/log/levels") {
        static const char *const names[] = { "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug" },
                                 *const bad[] = { "", "8", "-1", "7 ", "Debug", "error", "loud" };

        for (int level = 0; level < (int) G_N_ELEMENTS(names); level++) {
                g_autofree char *number = g_strdup_printf("%i", level);

                g_assert_cmpint(log_set_level_from_string(names[level]), ==, 0);
                g_assert_cmpint(log_get_level(), ==, level);
                g_assert_cmpstr(log_level_to_string(level), ==, names[level]);
                g_assert_cmpint(log_set_level_from_string("info"), ==, 0);
                g_assert_cmpint(log_set_level_from_string(number), ==, 0);
                g_assert_cmpint(log_get_level(), ==, level);
        }

        g_assert_cmpint(log_set_level_from_string("notice"), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_assert_cmpint(log_set_level_from_string(bad[i]), ==, -EINVAL);
                g_assert_cmpint(log_get_level(), ==, LOG_NOTICE);
        }
}

TEST(test_filter, "/log/filter") {
        if (g_test_subprocess()) {
                g_setenv("SELVOL_LOG_LEVEL", "notice", TRUE);
                log_set_level_from_environment();
                log_info("an info");
                log_notice("a notice");
                g_setenv("SELVOL_LOG_LEVEL", "lo\033ud", TRUE);
                log_set_level_from_environment();
                log_info("another info");
                return;
        }
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr("*a notice*'lo\\x1bud'*not a log level*");
        g_test_trap_assert_stderr_unmatched("*info\n*");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "cases.h"

enum { TESTS_MAX = 64 };

static void (*registered[TESTS_MAX])(void);
static size_t n_registered;

void register_test(void (*add)(void)) {
        g_assert_cmpuint(n_registered, <, TESTS_MAX);
        registered[n_registered++] = add;
}

void add_all_tests(void) {
        if (add_tests)
                add_tests();
        for (size_t i = 0; i < n_registered; i++)
                registered[i]();
}

static void add_case(const char *prefix, const char *name, const void *data, GTestDataFunc function) {
        g_autofree char *path = g_strdup_printf("%s/%s", prefix, name);

        g_test_add_data_func(path, data, function);
}

void add_words(const char *prefix, GTestDataFunc function, ...) {
        va_list ap;

        va_start(ap, function);
        for (const char *word; (word = va_arg(ap, const char *));)
                add_case(prefix, word, word, function);
        va_end(ap);
}

void add_rows_of(const char *prefix, const void *rows, size_t n, size_t size, GTestDataFunc function) {
        for (size_t i = 0; i < n; i++) {
                const void *row = (const char *) rows + i * size;

                add_case(prefix, *(const char *const *) row, row, function);
        }
}

void add_fixture_rows_of(const char *prefix, const void *rows, size_t n, size_t size, size_t fixture_size,
                         GTestFixtureFunc set_up, GTestFixtureFunc function, GTestFixtureFunc tear_down) {
        for (size_t i = 0; i < n; i++) {
                const void *row = (const char *) rows + i * size;
                g_autofree char *path = g_strdup_printf("%s/%s", prefix, *(const char *const *) row);

                g_test_add_vtable(path, fixture_size, row, set_up, function, tear_down);
        }
}

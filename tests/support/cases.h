/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A program with the shared main() defines this. */
void add_tests(void);

/* Adds a test PREFIX/WORD for each word; its data is the word. */
void add_words(const char *prefix, GTestDataFunc function, ...) G_GNUC_NULL_TERMINATED;

/* Adds a test PREFIX/NAME for each row of an array; its data is the row, a struct whose first member is the
 * name. */
#define add_rows(prefix, rows, function) \
        add_rows_of((prefix), (rows), G_N_ELEMENTS(rows), sizeof((rows)[0]), (function))
void add_rows_of(const char *prefix, const void *rows, size_t n, size_t size, GTestDataFunc function);

/* Adds such tests with a fixture of that type. */
#define add_fixture_rows(prefix, Type, rows, set_up, function, tear_down)                          \
        add_fixture_rows_of((prefix), (rows), G_N_ELEMENTS(rows), sizeof((rows)[0]), sizeof(Type), \
                            (GTestFixtureFunc) (set_up), (GTestFixtureFunc) (function),            \
                            (GTestFixtureFunc) (tear_down))
void add_fixture_rows_of(const char *prefix, const void *rows, size_t n, size_t size, size_t fixture_size,
                         GTestFixtureFunc set_up, GTestFixtureFunc function, GTestFixtureFunc tear_down);

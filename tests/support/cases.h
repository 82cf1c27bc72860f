/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <glib.h>

/* All that a program has, whose main() is shared. */
void add_tests(void);

/* One test for each of the words, named PREFIX/WORD, which gets the word. */
void add_words(const char *prefix, GTestDataFunc function, ...) G_GNUC_NULL_TERMINATED;

/* One test for each row of an array, named PREFIX/NAME, which gets the row: a struct that begins with its name. */
#define add_rows(prefix, rows, function) \
        add_rows_of((prefix), (rows), G_N_ELEMENTS(rows), sizeof((rows)[0]), (function))
void add_rows_of(const char *prefix, const void *rows, size_t n, size_t size, GTestDataFunc function);

/* The same with a fixture of that type. */
#define add_fixture_rows(prefix, Type, rows, set_up, function, tear_down)                          \
        add_fixture_rows_of((prefix), (rows), G_N_ELEMENTS(rows), sizeof((rows)[0]), sizeof(Type), \
                            (GTestFixtureFunc) (set_up), (GTestFixtureFunc) (function),            \
                            (GTestFixtureFunc) (tear_down))
void add_fixture_rows_of(const char *prefix, const void *rows, size_t n, size_t size, size_t fixture_size,
                         GTestFixtureFunc set_up, GTestFixtureFunc function, GTestFixtureFunc tear_down);

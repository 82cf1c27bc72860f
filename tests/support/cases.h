/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* TEST(test_this, "/suite/this") { ... } defines a test, which the program's main() adds and runs. */
#define TEST(function, path) DEFINE_TEST(function, (void), g_test_add_func(path, function))
/* A test of each word, or of each row as add_rows() adds it; "word" or "row" is the name of the parameter. */
#define TEST_WORDS(function, prefix, word, ...) \
        DEFINE_TEST_OF(function, const char *word, add_words(prefix, test_of_##function, __VA_ARGS__, NULL))
#define TEST_ROWS(function, prefix, rows, row) \
        DEFINE_TEST_OF(function, const __typeof__((rows)[0]) *row, add_rows(prefix, rows, test_of_##function))
/* The program has a type Fixture with functions that set it up and tear it down. */
#define TEST_FIXTURE(function, path) TEST_SET_UP(function, path, fixture_set_up)
#define TEST_SET_UP(function, path, set_up)                      \
        DEFINE_TEST(function, (Fixture * f, gconstpointer data), \
                    g_test_add(path, Fixture, NULL, set_up, function, fixture_tear_down))
#define TEST_FIXTURE_ROWS(function, prefix, rows)                \
        DEFINE_TEST(function, (Fixture * f, gconstpointer data), \
                    add_fixture_rows(prefix, Fixture, rows, fixture_set_up, function, fixture_tear_down))

#define DEFINE_TEST(function, parameters, add)                               \
        static void function parameters;                                     \
        static void add_##function(void) {                                   \
                add;                                                         \
        }                                                                    \
        __attribute__((constructor)) static void register_##function(void) { \
                register_test(add_##function);                               \
        }                                                                    \
        static void function parameters
#define DEFINE_TEST_OF(function, parameter, add)                     \
        static void function(parameter);                             \
        DEFINE_TEST(test_of_##function, (gconstpointer data), add) { \
                function(data);                                      \
        }                                                            \
        static void function(parameter)
void register_test(void (*add)(void));

/* A program whose tests share something, or have data of another kind, defines this. */
__attribute__((weak)) void add_tests(void);
/* A main() calls this after g_test_init(). */
void add_all_tests(void);

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

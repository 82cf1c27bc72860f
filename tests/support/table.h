/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "cases.h"

/* tests/data has tables of test cases. A line is a comment ('#'), blank, or a row of cells between '|';
 * blanks at both ends of a cell do not count. The first row names the columns, one of which must be "id". A
 * cell "-" is not given, and '""' is the empty string; \n, \t, \", \\ and \NNN (octal) stand for characters
 * that a table can't hold. */

typedef struct Table Table;

typedef struct Row {
        const Table *table;
        unsigned line;
        char **cells;
} Row;

/* Loads tests/data/NAME. Blanks separate the known columns. An unknown column ends the program: nobody would
 * ever check a column with a misspelt name. */
Table *table_load(const char *name, const char *known_columns);

/* Returns the cell; NULL if it is "-", or the table has no such column. */
const char *row_get(const Row *row, const char *column);
/* Returns the cell; ends the test if it is not given. */
const char *row_need(const Row *row, const char *column);
bool row_has(const Row *row, const char *column);

/* Defines a test of each row of the table; "row" is its parameter. */
#define TEST_TABLE(function, prefix, name, columns) \
        DEFINE_TEST_OF(function, const Row *row,    \
                       table_add_tests(table_load(name, columns), prefix, test_of_##function))
/* Adds one test for each row, named PREFIX/ID. */
void table_add_tests(const Table *table, const char *prefix, GTestDataFunc function);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "cases.h"

/* Tables of test cases in tests/data. A line is a comment ('#'), blank, or a row of cells between '|', of which
 * blanks at both ends are cut. The first row names the columns. A cell "-" is "not given", '""' is the empty string;
 * \n, \t,
 * \", \\ and \NNN (octal) stand for characters that a table can't hold. One column must be named "id". */

typedef struct Table Table;

typedef struct Row {
        const Table *table;
        unsigned line;
        char **cells;
} Row;

/* Loads tests/data/NAME. A column that is not among the known ones (blank separated) ends the test program: a
 * misspelt column would otherwise be one that is never checked. */
Table *table_load(const char *name, const char *known_columns);

/* The cell; NULL where it is "-" or the table has no such column. */
const char *row_get(const Row *row, const char *column);
/* The same for cells that must be there. */
const char *row_need(const Row *row, const char *column);
bool row_has(const Row *row, const char *column);

/* Adds one test for each row, named PREFIX/ID. */
void table_add_tests(const Table *table, const char *prefix, GTestDataFunc function);

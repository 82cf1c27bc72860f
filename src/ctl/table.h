/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* What selvolctl prints: rows of typed cells, shown as a table, as a list of properties, or as JSON. */

typedef enum CellType {
        CELL_STRING,
        CELL_BOOLEAN,
        CELL_NUMBER,
        CELL_TIME,
        CELL_DURATION,
        CELL_GROUP, /* GID_NONE: empty, and null in JSON */
        CELL_JOB,   /* its number; on D-Bus its object */
        CELL_LIST,
} CellType;

typedef struct Column {
        const char *name;  /* the heading; in lower case the JSON key */
        const char *label; /* in a list of properties; NULL: in JSON only */
        const char *key;   /* of the D-Bus property or result that fills it; NULL: none */
        CellType type;     /* times and durations are in µs */
        bool detail;       /* not in a table, as that would be too wide */
        bool escaped;      /* by the service */
} Column;

typedef struct Table Table;

/* columns must outlive the table. name is the JSON key of the list of rows. */
int table_new(const char *name, const Column *columns, size_t n_columns, Table **ret) _warn_unused_;
Table *table_free(Table *t);
DEFINE_CLEANUP_FUNC(Table *, table_free);

const Column *table_columns(const Table *t, size_t *ret_n);
size_t table_rows(const Table *t);

int table_add_row(Table *t) _warn_unused_;
/* The text of the cell in the first row whose column has that key; "" if there is none. */
const char *table_get(const Table *t, const char *key);
/* The number in a column of the last row; 0 if it isn't set. */
uint64_t table_get_number(const Table *t, size_t column);
/* Orders the rows by a column, which may be a number. */
void table_sort(Table *t, size_t column);

/* Set a cell of the last row. -EINVAL if the column is of another type. Strings from outside are escaped for
 * terminals here, so that nobody forgets it. */
int table_set_string(Table *t, size_t column, const char *value) _warn_unused_;
int table_set_boolean(Table *t, size_t column, bool value) _warn_unused_;
int table_set_number(Table *t, size_t column, uint64_t value) _warn_unused_;
int table_set_list(Table *t, size_t column, char *const *value) _warn_unused_;

/* As rows with headings, leaving out columns marked as details. */
int table_print(const Table *t, bool legend, bool colours) _warn_unused_;
/* One row as "label: value" lines, leaving out what is empty. */
void table_print_row(const Table *t, size_t row, bool colours);
/* All tables as one JSON object with a list for each. */
int tables_print_json(Table *const *tables, size_t n) _warn_unused_;

#define _cleanup_table_ _cleanup_(table_freep)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/cleanup.h"
#include "store/store-schema.h"

/* What store.c, store-rows.c and store-transaction.c share. */

typedef struct Store {
        char *path;
        sqlite3 *db;
        sqlite3_stmt *statements[STATEMENTS];
        bool dirty;
        int error; /* negative once failed */
} Store;

/* store-transaction.c: opens and closes the file at s->path. */
int store_open_database(Store *s) _warn_unused_;
void store_close_database(Store *s);

/* Opens the transaction with the first change of an iteration. False if the store takes no changes. */
bool store_begin(Store *s);
/* Runs a statement whose parameters are bound, and that changes something; a failure makes the store failed. */
void store_change(Store *s, Statement id);
/* Returns 1 if there is another row, 0 if not, or a negative errno. _cleanup_statement_ ends it. */
int store_step(sqlite3_stmt *st) _warn_unused_;

static inline void statement_resetp(sqlite3_stmt **st) {
        if (!*st)
                return;
        (void) sqlite3_reset(*st);
        (void) sqlite3_clear_bindings(*st);
}
#define _cleanup_statement_ _cleanup_(statement_resetp)

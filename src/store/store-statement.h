/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>

/* The statements of an open store. */

typedef struct Store Store;

typedef enum Statement {
        BEGIN,
        COMMIT,
        ROLLBACK,
        PUT_VOLUME,
        DELETE_VOLUME,
        PUT_HOLDER,
        DELETE_HOLDERS,
        ADD_HISTORY,
        TRIM_HISTORY,
        GET_HISTORY,
        GET_META,
        PUT_META,
        STATEMENTS,
} Statement;

struct Store {
        char *path;
        sqlite3 *db;
        sqlite3_stmt *statements[STATEMENTS];
        bool dirty;
        int error; /* negative once failed */
};

/* A result code of SQLite as 0 or a negative errno. */
int store_errno(int rc);

/* Runs a statement whose parameters are bound; a row that it returns is left for the caller when wanted, who resets
 * the statement then. Returns 1 if there was a row, 0, or a negative errno. */
int store_run(Store *s, Statement id, bool keep_row);

/* Opens the transaction with the first change of an iteration. False if the store takes no changes. */
bool store_begin(Store *s);

/* Runs a statement that changes something; a failure makes the store failed. */
void store_change(Store *s, Statement id);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store-schema.h"

/* A statement that changes something, with the values of its parameters: what one thread records and another one writes. */
typedef struct Change Change;

/* In the order in which they were made. */
typedef struct Changes {
        Change *first, *last;
        bool incomplete; /* there was no memory for one of them */
} Changes;

/* Appends a change whose parameters are NULL. Returns NULL without memory, which is remembered. */
Change *changes_append(Changes *all, Statement statement);
void changes_done(Changes *all);

/* Set the parameter that belongs to a column; the text is copied, and may be NULL. */
void change_set_text(Change *c, int column, const char *text);
void change_set_number(Change *c, int column, uint64_t number);

/* Executes them in their order with the prepared statements, one of which is each change's. Returns 0; -ENOMEM if one of them
 * is incomplete; or another negative errno. What has been executed before a failure stays, in the open transaction. */
int changes_execute(const Changes *all, sqlite3_stmt *const statements[STATEMENTS]) _warn_unused_;

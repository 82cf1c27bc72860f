/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* The types of the store's functions. */

/* The tables of a file. A version is the number of steps that have led to it, plus 1. */
typedef struct Schema {
        const char *tables;       /* SQL that creates the tables in an empty file */
        const char *const *steps; /* SQL for each step: from version 1 to 2, and so on */
        size_t n_steps;
} Schema;

/* The schema of this code. */
extern const Schema store_schema;

/* Called for a row that can't be read. volume: the row's volume; target: the holder's target, "" for a row of
 * a volume. Both may contain any bytes. */
typedef void (*StoreSkipped)(void *userdata, const char *volume, const char *target);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* The types that the functions of the store take and return. */

/* The tables of a file. A version is the number of steps that have led to it, counted from 1. */
typedef struct Schema {
        const char *tables;       /* SQL that makes them in an empty file */
        const char *const *steps; /* SQL each: from version 1 to 2, and so on */
        size_t n_steps;
} Schema;

/* That of this code. */
extern const Schema store_schema;

/* Called for a row that can't be read: of a volume, or of the holder at a target, otherwise "". Both are
 * any bytes. */
typedef void (*StoreSkipped)(void *userdata, const char *volume, const char *target);

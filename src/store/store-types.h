/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What the functions of the store give back. */

enum { HISTORY_MAX = 64 };

typedef struct HistoryEntry {
        uint64_t time_usec;
        char *operation;
        char *result; /* "done", or the error's name */
        char *reason;
        char *target;
        char *holder;
        char *context;
        char *caller;
        char *text;
        uint64_t duration_usec;
} HistoryEntry;

/* Of one volume, oldest first. */
typedef struct History {
        HistoryEntry *entries;
        size_t n;
} History;

void history_done(History *h);

/* Called for a row that can't be read: of a volume, or of the holder at a target, otherwise "". Both are any bytes. */
typedef void (*StoreSkipped)(void *userdata, const char *volume, const char *target);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "environment.h"

typedef struct Wrong {
        char *text;
        int volume, target;
} Wrong;

/* What selvold records. */
typedef struct Records {
        int at[TARGETS];                /* the volume that is held there */
        uint32_t shown_gid[TARGETS];    /* that the files have to the holder, NO_GID if it was given none */
        uint32_t complete_gid[VOLUMES]; /* that all files are said to have on disk, NO_GID if that isn't known */
} Records;

bool read_records(const Environment *e, Records *r, Wrong *w);

/* Fills what is wrong, and returns false. */
bool blame(Wrong *w, int volume, int target, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Compares what selvold records, what the kernel has mounted, and what was acknowledged, when no call is under way. Gives the
 * service a moment to come to rest. What is seen becomes the model's start. */
bool check_all(const Environment *e, Wrong *w);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "environment.h"

typedef struct Wrong {
        char *text;
        int volume, target;
} Wrong;

/* The records of selvold. */
typedef struct Records {
        int at[TARGETS];                /* the volume of the holder at the target */
        uint32_t shown_gid[TARGETS];    /* the group that the holder sees, NO_GID if it has asked for none */
        uint32_t complete_gid[VOLUMES]; /* group of all files on disk; NO_GID: selvold knows none */
} Records;

bool read_records(const Environment *e, Records *r, Wrong *w);

/* Returns the group that all files beneath the directory have, NO_GID if they have several groups. */
uint32_t read_gid(const char *path);

/* Sets *w, and returns false. */
bool blame(Wrong *w, int volume, int target, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Checks that both processes run and have not complained. */
bool check_sound(const Environment *e, Wrong *w);
/* The same, waits until no process works any more, and compares the records of selvold, the mounts of the
 * kernel and the answers. No call may be under way. The model starts over from the mounts and groups that
 * this has seen. */
bool check_all(const Environment *e, Wrong *w);

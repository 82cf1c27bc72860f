/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* The model has all operations with their answers, and tells which mounts and groups are possible after them.
 * Several are possible, as operations run at once and some answers are lost. Acknowledged operations rule
 * some of them out. */

enum { VOLUMES = 4, TARGETS = 6, ANY_VOLUME = -1, NO_VOLUME = -2, NO_TARGET = -1 };

#define NO_GID UINT32_MAX

typedef enum Kind { KIND_MOUNT, KIND_UNMOUNT, KIND_OWNERSHIP, KINDS } Kind;

typedef enum Outcome {
        OUTCOME_NONE,
        OUTCOME_ACKNOWLEDGED,
        OUTCOME_REFUSED,   /* the error says that the operation was not done */
        OUTCOME_UNCERTAIN, /* the operation may have been done before the error */
        OUTCOME_LOST,      /* there was no answer: a process may still do the operation later */
        OUTCOMES,
} Outcome;

typedef struct Operation {
        Kind kind;
        Outcome outcome;
        int client; /* -1: no client's operation, but the state that the last check has seen */
        int volume, target;
        uint32_t gid;      /* the group that the client wants, NO_GID if it wants none */
        uint32_t disk_gid; /* the group on disk according to the answer, NO_GID if the answer has none */
        bool idle;         /* the answer says that nothing had to be done */
        int64_t begin, end;
        char *options, *answer;
} Operation;

/* The next operations start from the state that a check has seen: the volume at each target, or NO_VOLUME,
 * and the group of all files of each volume, NO_GID if they have several. */
void model_start_over(const int *at, const uint32_t *gids);
/* The next operations start without mounts, and root has all files. */
void model_start_empty(void);

/* The model keeps operations for model_print_history(). */
Operation *model_begin(Kind kind, int client, int volume, int target);
void model_end(Operation *o, Outcome outcome, char *answer);
void model_note(const char *text);

/* Tells whether the volume may be mounted at the target; NO_VOLUME: whether no volume may be. */
bool model_may_be_mounted(int target, int volume);
/* Tells whether all files of the volume may have the group on disk; NO_GID: whether they may have several. */
bool model_may_have_gid(int volume, uint32_t gid);

/* Counts the operations of the kind that had the outcome. */
unsigned model_count(Kind kind, Outcome outcome);
/* Counts all operations that were acknowledged. */
unsigned model_count_answers(void);
/* These print comments of TAP. */
void model_print_counts(void);
void model_print_history(int volume, int target);

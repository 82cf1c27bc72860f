/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* What was asked for and answered, and what may be the case after it. Several operations run at once and some answers
 * are lost, so there may be several such states; what was acknowledged narrows them down. */

enum { VOLUMES = 4, TARGETS = 6, ANY_VOLUME = -1, NO_VOLUME = -2, NO_TARGET = -1 };

#define NO_GID UINT32_MAX

typedef enum Kind { KIND_MOUNT, KIND_UNMOUNT, KIND_OWNERSHIP, KINDS } Kind;

typedef enum Outcome {
        OUTCOME_NONE,
        OUTCOME_ACKNOWLEDGED,
        OUTCOME_REFUSED,   /* an error that says that nothing was done */
        OUTCOME_UNCERTAIN, /* another error: it may have been done */
        OUTCOME_LOST,      /* no answer: it may still be done until nothing is at work any more */
        OUTCOMES,
} Outcome;

typedef struct Operation {
        Kind kind;
        Outcome outcome;
        int client; /* -1: not an operation, but what the last check saw */
        int volume, target;
        uint32_t gid;      /* wanted for the files, NO_GID if none is */
        uint32_t disk_gid; /* what they have on disk according to the answer, NO_GID if it doesn't say */
        bool idle;         /* the answer says that there was nothing to do */
        int64_t begin, end;
        char *options, *answer;
} Operation;

/* What a check saw is where the next operations start from: the volume at each target (or NO_VOLUME), and the group of
 * all files of each volume (NO_GID if they have several). */
void model_start_over(const int *at, const uint32_t *gids);
/* The same where nothing is mounted yet, and all files are root's. */
void model_start_empty(void);

/* Operations stay, for model_print_history(). */
Operation *model_begin(Kind kind, int client, int volume, int target);
void model_end(Operation *o, Outcome outcome, char *answer);
void model_note(const char *text);

/* Whether the volume, or NO_VOLUME, may be mounted at the target. */
bool model_may_be_mounted(int target, int volume);
/* Whether all files of the volume may have the group on disk; NO_GID: whether they may have several. */
bool model_may_have_gid(int volume, uint32_t gid);

/* How many operations of the kind had the outcome; how many were acknowledged. */
unsigned model_count(Kind kind, Outcome outcome);
unsigned model_count_answers(void);
/* Comments in TAP: */
void model_print_counts(void);
void model_print_history(int volume, int target);

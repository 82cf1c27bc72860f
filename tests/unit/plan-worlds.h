/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-fixture.h"

/* A world is a set of mounts of one superblock, on which a plan for TEST_VOLUME is then made. */

#define CONTEXT_A CONTEXT_0_1
#define CONTEXT_B CONTEXT_0_2
#define NO_LEVEL  "system_u:object_r:container_file_t"

/* OWN is a holder of the volume, OTHER a holder of another volume, and a STRANGER holds no volume. */
typedef enum Who { NOBODY, OWN, OTHER, STRANGER } Who;

typedef struct User {
        Who who;
        Strategy strategy;
        const char *context;
        bool reader, here, mounting;
        gid_t group, disk_group; /* 0: none */
} User;

typedef struct World {
        const char *word;
        User users[3];         /* the last one is NOBODY */
        bool hidden;           /* somebody whom nobody sees uses the superblock, too */
        const char *used_with; /* a relabel earlier in this boot was to this context; NULL: there was none */
} World;

enum { WORLDS = 27 };
extern const World worlds[WORLDS];

/* Records the holders, and has the mounts observed. */
void worlds_build(Fixture fixtures[WORLDS]);
void worlds_done(Fixture fixtures[WORLDS]);

/* r is 0 or the kind of the failure; a refusal because of others has a plan, too. */
typedef struct Answer {
        int r;
        Plan plan;
        Failure failure;
} Answer;

void answer_done(Answer *a);
/* Compares texts, for which NULL is the same as "". */
bool same_text(const char *a, const char *b);
bool same_answer(const Answer *a, const Answer *b);
/* Returns whether a refusal has its kind and one line of text, and a plan no trace of a refusal. */
bool answer_explains(const Answer *a);

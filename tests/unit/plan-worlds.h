/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-fixture.h"

/* Who has a superblock when a plan is made for TEST_VOLUME on it. */

#define CONTEXT_A CONTEXT_0_1
#define CONTEXT_B CONTEXT_0_2

typedef enum Who { NOBODY, OWN, OTHER, STRANGER } Who; /* a holder of the volume, or of another one, or none */

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
        bool hidden;           /* in use where nobody sees it */
        const char *used_with; /* the context that selvol relabeled the volume to before, in this boot */
} World;

enum { WORLDS = 27 };
extern const World worlds[WORLDS];

/* Records the holders, and has the mounts observed. */
void worlds_build(Fixture fixtures[WORLDS]);
void worlds_done(Fixture fixtures[WORLDS]);

/* NULL is as good as "". */
bool same_text(const char *a, const char *b);
bool plan_equal(const Plan *a, const Plan *b);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run.h"

/* Requests that are interrupted in every way. Each begins where the one before has ended, and can be undone, to be made again. */

typedef struct Scene {
        const char *name;
        Kind kind;
        int volume, target;
        uint32_t gid, gid_before;
} Scene;

enum { SCENES = 7, SCENE_ANSWER_SEC = 60 };
extern const Scene scenes[SCENES];

typedef bool (*Interrupt)(void *userdata, const Scene *scene, Wrong *w);

typedef struct SceneTest {
        RunSpec spec; /* with has_scenes, and two checks */
        Interrupt interrupt;
        bool (*print_counts)(const void *userdata); /* returns whether everything was done */
        const char *sentence;                       /* that is true then */
} SceneTest;

/* main(): has each scene interrupted, or the only one that was asked for, and then the request made. */
int scenes_main(Run *r, void *userdata, const SceneTest *t, int argc, char **argv);

/* Sends the request. */
const Operation *scene_start(Client *c, const Scene *scene);
/* Makes the request until it is done: what was interrupted may need a moment. what: it, for the complaint. */
bool scene_do(Client *c, const Scene *scene, const char *what, Wrong *w);
/* So that it can be made once more. */
bool scene_undo(Client *c, const Scene *scene, Wrong *w);

/* Whether both processes run, and record, kernel and answers agree. */
bool scenes_check(const Environment *e, Wrong *w);

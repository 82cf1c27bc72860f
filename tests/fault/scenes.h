/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run.h"

/* A scene is a request that is interrupted in every way. Each scene begins where the one before has ended. A
 * request can be undone, so that it can be made again. */

typedef struct Scene {
        const char *name;
        Kind kind;
        int volume, target;
        uint32_t gid, gid_before;
} Scene;

enum { SCENES = 7, SCENE_ANSWER_SEC = 60 };
extern const Scene scenes[SCENES];

typedef struct SceneTest {
        RunSpec spec; /* has_scenes is true */
        bool (*interrupt)(void *userdata, const Scene *scene, Wrong *w);
        bool (*print_counts)(const void *userdata); /* returns whether the run has done everything */
        const char *sentence;                       /* the name of the first check */
} SceneTest;

/* main() calls this. It interrupts each scene, or the one of --scene, and makes the request afterwards. */
int scenes_main(Run *r, void *userdata, const SceneTest *t, int argc, char **argv);

/* Sends the request. */
const Operation *scene_start(Client *c, const Scene *scene);
/* Repeats the request until it succeeds, as recovery takes a moment. what is for the complaint. */
bool scene_do(Client *c, const Scene *scene, const char *what, Wrong *w);
/* Undoes the request, so that it can be made once more. */
bool scene_undo(Client *c, const Scene *scene, Wrong *w);
/* Checks everything after an interruption, and makes and undoes the request. */
bool scene_recover(const Run *r, const Scene *scene, Wrong *w);

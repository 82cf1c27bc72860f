/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scenes.h"

enum { REPEAT_SEC = WAIT_SEC };

const Scene scenes[SCENES] = {
        { "mount", KIND_MOUNT, 0, 0, NO_GID, NO_GID },
        { "further holder", KIND_MOUNT, 0, 1, NO_GID, NO_GID },
        { "mount with a group", KIND_MOUNT, 1, 2, 2000, NO_GID },
        { "ownership", KIND_OWNERSHIP, 0, NO_TARGET, 3000, 2000 },
        { "mount of a tmpfs", KIND_MOUNT, 3, 3, NO_GID, NO_GID },
        { "unmount one of two", KIND_UNMOUNT, 0, 1, NO_GID, NO_GID },
        { "unmount", KIND_UNMOUNT, 0, 0, NO_GID, NO_GID },
};

const Operation *scene_start(Client *c, const Scene *scene) {
        if (scene->kind == KIND_MOUNT)
                return client_mount(c, scene->volume, scene->target, scene->gid);
        if (scene->kind == KIND_UNMOUNT)
                return client_unmount(c, scene->volume, scene->target);
        return client_ownership(c, scene->volume, scene->gid);
}

static bool is_done(Client *c, const Scene *scene) {
        const Operation *o = scene_start(c, scene);

        return HOLDS_WITHIN(SCENE_ANSWER_SEC, client_is_idle(c)) && o->outcome == OUTCOME_ACKNOWLEDGED;
}

bool scene_do(Client *c, const Scene *scene, const char *what, Wrong *w) {
        return HOLDS_WITHIN(REPEAT_SEC, is_done(c, scene)) ||
               blame(w, scene->volume, scene->target, "%s does not work", what);
}

bool scene_undo(Client *c, const Scene *scene, Wrong *w) {
        Scene before = *scene;

        before.kind = scene->kind == KIND_MOUNT     ? KIND_UNMOUNT
                      : scene->kind == KIND_UNMOUNT ? KIND_MOUNT
                                                    : KIND_OWNERSHIP;
        before.gid = scene->gid_before;
        return scene_do(c, &before, "to undo it", w);
}

bool scene_recover(const Run *r, const Scene *scene, Wrong *w) {
        return check_all(&r->environment, w) && scene_do(r->client, scene, "the same request", w) &&
               scene_undo(r->client, scene, w);
}

static bool scenes_run(const Run *r, bool (*interrupt)(void *userdata, const Scene *scene, Wrong *w), void *userdata,
                       Wrong *w) {
        model_start_empty();
        for (int i = 0; i < SCENES; i++) {
                bool interrupted = r->only < 0 || i == r->only;

                if ((interrupted && !interrupt(userdata, &scenes[i], w)) ||
                    !scene_do(r->client, &scenes[i], "the request", w) ||
                    (interrupted && !check_all(&r->environment, w)))
                        return false;
        }
        return true;
}

int scenes_main(Run *r, void *userdata, const SceneTest *t, int argc, char **argv) {
        Wrong wrong = { 0 };
        bool ok, done;

        run_begin(r, &t->spec, argc, argv);
        ok = scenes_run(r, t->interrupt, userdata, &wrong);
        if (!ok)
                run_print_wrong(r, &wrong);
        done = t->print_counts(userdata) || !ok || r->only >= 0;
        run_report(ok, 1, t->sentence);
        run_report(done, 2, "each process was interrupted in each way");
        g_free(wrong.text);
        return run_end(r, ok && done);
}

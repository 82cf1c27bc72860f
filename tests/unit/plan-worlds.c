/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-worlds.h"

#define OTHER_VOLUME "pvc-other"
#define DEVICE       "254:16" /* observe() uses this device, too */

const World worlds[WORLDS] = {
        { "nobody", { { NOBODY } } },
        { "relabel-a", { { OWN, STRATEGY_RELABEL, CONTEXT_A } } },
        { "relabel-b", { { OWN, STRATEGY_RELABEL, CONTEXT_B } } },
        { "relabel-unknown", { { OWN, STRATEGY_RELABEL, "" } } },
        { "relabeled-a", { { OWN, STRATEGY_RELABEL, CONTEXT_A, .here = true } } },
        { "relabeling-b", { { OWN, STRATEGY_RELABEL, CONTEXT_B, .mounting = true } } },
        { "relabel-a-mapped", { { OWN, STRATEGY_RELABEL, CONTEXT_A, .group = 2000, .disk_group = 3000 } } },
        { "none", { { OWN, STRATEGY_NONE, "" } } },
        { "none-reader", { { OWN, STRATEGY_NONE, "", .reader = true } } },
        { "none-and-relabel-a", { { OWN, STRATEGY_NONE, "" }, { OWN, STRATEGY_RELABEL, CONTEXT_A } } },
        { "context-a", { { OWN, STRATEGY_CONTEXT_MOUNT, CONTEXT_A } } },
        { "context-a-reader", { { OWN, STRATEGY_CONTEXT_MOUNT, CONTEXT_A, .reader = true } } },
        { "context-b", { { OWN, STRATEGY_CONTEXT_MOUNT, CONTEXT_B } } },
        { "other-relabel-a", { { OTHER, STRATEGY_RELABEL, CONTEXT_A } } },
        { "other-relabel-b", { { OTHER, STRATEGY_RELABEL, CONTEXT_B } } },
        { "other-none", { { OTHER, STRATEGY_NONE, "" } } },
        { "other-context-a", { { OTHER, STRATEGY_CONTEXT_MOUNT, CONTEXT_A } } },
        { "other-context-b", { { OTHER, STRATEGY_CONTEXT_MOUNT, CONTEXT_B } } },
        { "relabeled-a-other-none",
          { { OWN, STRATEGY_RELABEL, CONTEXT_A, .here = true }, { OTHER, STRATEGY_NONE, "" } } },
        { "context-a-reader-other-writer",
          { { OWN, STRATEGY_CONTEXT_MOUNT, CONTEXT_A, .reader = true },
            { OTHER, STRATEGY_CONTEXT_MOUNT, CONTEXT_A } } },
        { "none-reader-stranger", { { OWN, STRATEGY_NONE, "", .reader = true }, { STRANGER, STRATEGY_NONE, "" } } },
        { "stranger", { { STRANGER, STRATEGY_NONE, "" } } },
        { "stranger-reader", { { STRANGER, STRATEGY_NONE, "", .reader = true } } },
        { "stranger-context-a", { { STRANGER, STRATEGY_CONTEXT_MOUNT, CONTEXT_A } } },
        { "stranger-context-b-reader", { { STRANGER, STRATEGY_CONTEXT_MOUNT, CONTEXT_B, .reader = true } } },
        { "hidden", { { NOBODY } }, .hidden = true },
        { "hidden-after-relabel-a", { { NOBODY } }, .hidden = true, .used_with = CONTEXT_A },
};

static const char *const user_targets[] = { TARGET_1, TARGET_3 };

static void add_user(Fixture *x, const User *u, const char *target) {
        Holder *h;

        if (u->who != STRANGER) {
                h = fixture_hold(x, u->who == OWN ? TEST_VOLUME : OTHER_VOLUME, target, target, u->strategy,
                                 u->context);
                h->read_only = u->reader;
                h->relabeled_here = u->here;
                h->state = u->mounting ? HOLDER_MOUNTING : HOLDER_MOUNTED;
                h->device = copy(DEVICE);
                if (u->group != 0) {
                        h->fs_group = u->group;
                        h->disk_gid = u->disk_group;
                }
        }
        if (u->mounting)
                return;
        observe(&x->observed, target, "ext4", u->strategy == STRATEGY_CONTEXT_MOUNT ? u->context : "")->read_only =
                u->reader;
}

static void world_build(const World *w, Fixture *x) {
        Volume *v;

        for (size_t i = 0; w->users[i].who != NOBODY; i++)
                add_user(x, &w->users[i], user_targets[i]);
        x->observed.hidden = w->hidden;
        if (!w->used_with)
                return;
        v = fixture_volume(x, TEST_VOLUME);
        v->strategy = STRATEGY_RELABEL;
        v->mounted_this_boot = true;
        g_assert_cmpint(free_and_strdup(&v->context, w->used_with), ==, 0);
}

void worlds_build(Fixture fixtures[WORLDS]) {
        for (size_t i = 0; i < WORLDS; i++)
                world_build(&worlds[i], &fixtures[i]);
}

void worlds_done(Fixture fixtures[WORLDS]) {
        for (size_t i = 0; i < WORLDS; i++) {
                observed_done(&fixtures[i].observed);
                volumes_done(&fixtures[i].volumes);
        }
}

bool same_text(const char *a, const char *b) {
        return streq(strempty(a), strempty(b));
}

void answer_done(Answer *a) {
        plan_done(&a->plan);
        failure_done(&a->failure);
}

static bool plan_equal(const Plan *a, const Plan *b) {
        return a->strategy == b->strategy && same_text(a->context, b->context) &&
               same_text(a->runtime_flag, b->runtime_flag) && a->reason == b->reason && same_text(a->text, b->text) &&
               strv_equal(a->mount_options, b->mount_options) && a->read_only == b->read_only &&
               a->relabel_here == b->relabel_here && a->fs_group == b->fs_group && a->readers == b->readers &&
               a->ownership == b->ownership && a->ownership_reason == b->ownership_reason && a->change == b->change &&
               a->share == b->share && a->entries == b->entries && a->usec == b->usec &&
               a->n_conflicts == b->n_conflicts;
}

bool same_answer(const Answer *a, const Answer *b) {
        return a->r == b->r && same_text(a->failure.message, b->failure.message) && plan_equal(&a->plan, &b->plan);
}

bool answer_explains(const Answer *a) {
        const Failure *f = &a->failure;

        if (a->r == 0)
                return f->kind == FAILURE_NONE && !f->message && a->plan.n_conflicts == 0;
        return a->r > 0 && a->r == (int) f->kind && message_is_text(f->message);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "combinations.h"
#include "plan-worlds.h"
#include "plan/plan-change.h"

/* plan_relabel() and plan_ownership(), for every combination of what they decide on. */

#define NO_LEVEL "system_u:object_r:container_file_t"

enum { G = 1000 };

static const struct {
        const char *word;
        bool seen;
        Node node;
} nodes[] = {
        { "not-seen", false, { 0 } },
        { "off", true, { 0 } },
        { "levels", true, { .selinux = true, .mls = true, .file_context = (char *) TEST_FILE_CONTEXT } },
        { "no-levels", true, { .selinux = true, .file_context = (char *) NO_LEVEL } },
};

static const struct {
        const char *word, *type, *driver;
        AccessMode mode;
        bool managed;
} kinds[] = {
        { "csi", "csi", NULL, ACCESS_READ_WRITE_ONCE, true },
        { "hostPath", "hostPath", "eager", ACCESS_READ_WRITE_ONCE, false },
        { "cephfs", "cephfs", NULL, ACCESS_READ_WRITE_MANY, false },
        { "cephfs-supported", "cephfs", "eager", ACCESS_READ_WRITE_MANY, true },
        { "rbd", "rbd", NULL, ACCESS_READ_WRITE_ONCE, true },
        { "rbd-shared", "rbd", NULL, ACCESS_READ_WRITE_MANY, false },
};

static const struct {
        const char *word, *asked, *canonical; /* NULL: that of the last use, and none that can be used */
} contexts[] = {
        { "last", NULL, NULL },
        { "a", "system_u:object_r:container_file_t:s0:c1,c0", CONTEXT_A },
        { "b", CONTEXT_B, CONTEXT_B },
        { "without-level", NO_LEVEL, NO_LEVEL },
        { "type-not-allowed", "system_u:object_r:shadow_t:s0:c0,c1", NULL },
        { "malformed", "container_file_t", NULL },
};

/* What is known of the last mount; it is used if nobody has the volume. */
static const struct {
        const char *word, *source, *fs_type;
        bool here;
        bool again; /* can be mounted again */
} mounts[] = {
        { "here", "/dev/vdb", "ext4", true, true },
        { "elsewhere", "/dev/vdb", "ext4", false, false },
        { "no-source", "", "ext4", true, false },
        { "tmpfs", "tmpfs", "tmpfs", true, false },
};

static const struct {
        const char *word;
        gid_t gid;
} groups[] = { { "1000", G }, { "2000", 2000 }, { "3000", 3000 } };

typedef struct Case {
        const User *users;
        bool managed, again;
        const char *wanted; /* NULL: none that can be used */
        gid_t gid;
        bool readers;
        ChangeInput in;
        int r;
        Plan plan;
        Failure failure;
} Case;

static int relabel(const Case *c, Plan *ret, Failure *f) {
        return plan_relabel(&c->in, ret, f);
}

static int give(const Case *c, Plan *ret, Failure *f) {
        return plan_ownership(&c->in, c->gid, c->readers, ret, f);
}

static bool decides_again(const Case *c, int (*decide)(const Case *c, Plan *ret, Failure *f)) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(plan_done) Plan p = { 0 };
        int r = decide(c, &p, &f);

        return r == c->r && same_text(f.message, c->failure.message) && plan_equal(&p, &c->plan);
}

/* --- what must be true of both --- */

/* Whom a decision can know of. */
static bool is_seen(const Case *c, const User *u) {
        return u->who == OWN || c->in.observed;
}

static bool is_refused(const Case *c) {
        return c->r != 0;
}

static bool host_path_is_left_alone(const Case *c) {
        return is_refused(c) || !streq(c->in.volume->volume_type, "hostPath");
}

static bool reached_through_a_writer(const Case *c) {
        const Holder *share = c->plan.share;

        return is_refused(c) || !share ||
               (share->state == HOLDER_MOUNTED && !share->read_only && share->volume == c->in.volume);
}

static bool mounted_only_as_it_was(const Case *c) {
        if (is_refused(c) || c->plan.share)
                return true;
        return !c->in.volume->holders && c->again && !(c->in.observed && c->in.observed->hidden);
}

static bool asks_nothing_of_the_runtime(const Case *c) {
        return is_refused(c) || (isempty(c->plan.runtime_flag) && c->plan.reason == REASON_REQUESTED);
}

static bool refusal_explains(const Case *c) {
        const Failure *f = &c->failure;

        if (!is_refused(c))
                return f->kind == FAILURE_NONE && !f->message && c->plan.n_conflicts == 0;
        return c->r > 0 && c->r == (int) f->kind && !isempty(f->message) && !strchr(f->message, '\n');
}

/* --- of labels --- */

static bool relabels(const Case *c) {
        return is_refused(c) || (c->plan.strategy == STRATEGY_RELABEL && c->plan.relabel_here);
}

static bool labels_are_managed(const Case *c) {
        return is_refused(c) || (c->managed && (!c->in.node || c->in.node->selinux));
}

static bool context_was_asked_for(const Case *c) {
        const Node *node = c->in.node;

        if (is_refused(c))
                return true;
        return c->wanted && streq(c->plan.context, c->wanted) &&
               !(node && node->mls && streq(c->plan.context, NO_LEVEL));
}

static bool labels_are_not_taken(const Case *c) {
        /* Whether there are levels is not known before the node is seen, and then it is decided again. */
        if (is_refused(c) || (!c->in.node && streq(c->plan.context, NO_LEVEL)))
                return true;
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && u->strategy == STRATEGY_RELABEL && !streq(u->context, c->plan.context))
                        return false;
        return true;
}

static bool context_mount_is_not_relabeled(const Case *c) {
        if (is_refused(c))
                return true;
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && u->strategy == STRATEGY_CONTEXT_MOUNT)
                        return false;
        return true;
}

static bool who_relies_on_none_is_in_nobodys_way(const Case *c) {
        bool found = false;

        for (const User *u = c->users; u->who != NOBODY; u++)
                found = found || u->strategy == STRATEGY_RELABEL;
        return found || c->r != FAILURE_CONTEXT_CONFLICT;
}

static bool mark_claims_no_more(const Case *c) {
        if (is_refused(c))
                return true;
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && !u->reader && !u->here && c->plan.change < MARK_RESET_LABELS)
                        return false;
        return true;
}

static bool same_relabel(const Case *c) {
        return decides_again(c, relabel);
}

typedef struct Invariant {
        const char *sentence;
        bool (*holds)(const Case *c);
} Invariant;

static const Invariant label_invariants[] = {
        { "a hostPath is left alone", host_path_is_left_alone },
        { "files are reached through the mount of a holder who writes", reached_through_a_writer },
        { "only what nobody has is mounted, and only as it was", mounted_only_as_it_was },
        { "the runtime is asked for nothing", asks_nothing_of_the_runtime },
        { "a refusal has its kind and says why", refusal_explains },
        { "files are relabeled here", relabels },
        { "only labels that are managed are changed", labels_are_managed },
        { "the context is the one that was asked for, with a level where there are levels", context_was_asked_for },
        { "labels are not taken from a holder who relies on them", labels_are_not_taken },
        { "what is mounted with a context is not relabeled", context_mount_is_not_relabeled },
        { "who relies on no labels is in nobody's way", who_relies_on_none_is_in_nobodys_way },
        { "the mark claims no more than is true with all who may write", mark_claims_no_more },
        { "the same input gives the same plan and reason", same_relabel },
};

/* --- of groups --- */

static bool gives_the_group(const Case *c) {
        return is_refused(c) ||
               (c->plan.ownership == OWNERSHIP_WALK && c->plan.fs_group == c->gid && c->plan.readers == c->readers);
}

static bool labels_are_left_alone(const Case *c) {
        return is_refused(c) || (c->plan.strategy == STRATEGY_NONE && !c->plan.relabel_here &&
                                 isempty(c->plan.context) && c->plan.change == MARK_KEEP);
}

/* One that shows the group in the place of another one. */
static bool mount_shows_the_group(const Case *c) {
        const Holder *share = c->plan.share;

        return is_refused(c) || !share || !holder_is_mapped(share) || share->fs_group == c->gid;
}

static bool same_ownership(const Case *c) {
        return decides_again(c, give);
}

static const Invariant group_invariants[] = {
        { "a hostPath is left alone", host_path_is_left_alone },
        { "files are reached through the mount of a holder who writes", reached_through_a_writer },
        { "only what nobody has is mounted, and only as it was", mounted_only_as_it_was },
        { "the runtime is asked for nothing", asks_nothing_of_the_runtime },
        { "a refusal has its kind and says why", refusal_explains },
        { "files get the group", gives_the_group },
        { "labels are left alone", labels_are_left_alone },
        { "the mount shows groups as they are, or the one wanted", mount_shows_the_group },
        { "the same input gives the same plan and reason", same_ownership },
};

/* --- the cases --- */

typedef struct Context {
        Settings settings;
        Fixture worlds[WORLDS];
} Context;

static void set_up(Context *x) {
        *x = (Context){ .settings = test_settings("[Driver eager];SELinuxMountSupported=yes;"
                                                  "[VolumeType hostPath];Managed=always") };
        worlds_build(x->worlds);
}

static void tear_down(Context *x) {
        worlds_done(x->worlds);
}

static Case make_case(Context *x, size_t world, size_t kind, size_t mount, bool looked) {
        Volume *v = fixture_volume(&x->worlds[world], TEST_VOLUME);

        set_text(&v->volume_type, kinds[kind].type);
        set_text(&v->driver, kinds[kind].driver);
        v->access_mode = kinds[kind].mode;
        set_text(&v->source, mounts[mount].source);
        set_text(&v->fs_type, mounts[mount].fs_type);
        v->mounted_here = mounts[mount].here;
        return (Case){
                .users = worlds[world].users,
                .managed = kinds[kind].managed,
                .again = mounts[mount].again,
                .in = { .settings = &x->settings,
                        .volumes = &x->worlds[world].volumes,
                        .volume = v,
                        .observed = looked ? &x->worlds[world].observed : NULL },
        };
}

static void check(Case *c, const Invariant *invariants, size_t n, const Dimension *dimensions, size_t n_dimensions,
                  const size_t *choice) {
        for (size_t i = 0; i < n; i++)
                if (!invariants[i].holds(c))
                        combination_fail(dimensions, n_dimensions, choice, invariants[i].sentence,
                                         c->r != 0 ? c->failure.message : c->plan.text);
        plan_done(&c->plan);
        failure_done(&c->failure);
}

enum { L_NODE, L_KIND, L_CONTEXT, L_MOUNT, L_LOOKED, L_WORLD, L_DIMENSIONS };

static const Dimension label_dimensions[L_DIMENSIONS] = {
        [L_NODE] = DIMENSION("node", nodes),          [L_KIND] = DIMENSION("kind", kinds),
        [L_CONTEXT] = DIMENSION("context", contexts), [L_MOUNT] = DIMENSION("mounted", mounts),
        [L_LOOKED] = DIMENSION("looked", flags),      [L_WORLD] = DIMENSION("world", worlds),
};

static bool try_relabel(const size_t *choice, void *data) {
        const User *u = worlds[choice[L_WORLD]].users;
        Case c;

        /* Without levels all contexts are known. */
        if (u->strategy == STRATEGY_RELABEL && isempty(u->context) && nodes[choice[L_NODE]].seen &&
            !nodes[choice[L_NODE]].node.mls)
                return false;
        c = make_case(data, choice[L_WORLD], choice[L_KIND], choice[L_MOUNT], flags[choice[L_LOOKED]].is);

        c.in.node = nodes[choice[L_NODE]].seen ? &nodes[choice[L_NODE]].node : NULL;
        c.in.context = contexts[choice[L_CONTEXT]].asked;
        c.wanted = c.in.context ? contexts[choice[L_CONTEXT]].canonical : c.in.volume->context;
        c.r = relabel(&c, &c.plan, &c.failure);
        check(&c, label_invariants, G_N_ELEMENTS(label_invariants), label_dimensions, L_DIMENSIONS, choice);
        return true;
}

static void test_relabel(void) {
        Context x;

        set_up(&x);
        combinations_try(label_dimensions, L_DIMENSIONS, try_relabel, &x);
        tear_down(&x);
}

enum { G_KIND, G_GROUP, G_READERS, G_MOUNT, G_LOOKED, G_WORLD, G_DIMENSIONS };

static const Dimension group_dimensions[G_DIMENSIONS] = {
        [G_KIND] = DIMENSION("kind", kinds),       [G_GROUP] = DIMENSION("group", groups),
        [G_READERS] = DIMENSION("readers", flags), [G_MOUNT] = DIMENSION("mounted", mounts),
        [G_LOOKED] = DIMENSION("looked", flags),   [G_WORLD] = DIMENSION("world", worlds),
};

static bool try_ownership(const size_t *choice, void *data) {
        Case c = make_case(data, choice[G_WORLD], choice[G_KIND], choice[G_MOUNT], flags[choice[G_LOOKED]].is);

        c.gid = groups[choice[G_GROUP]].gid;
        c.readers = flags[choice[G_READERS]].is;
        c.r = give(&c, &c.plan, &c.failure);
        check(&c, group_invariants, G_N_ELEMENTS(group_invariants), group_dimensions, G_DIMENSIONS, choice);
        return true;
}

static void test_ownership(void) {
        Context x;

        set_up(&x);
        combinations_try(group_dimensions, G_DIMENSIONS, try_ownership, &x);
        tear_down(&x);
}

void add_tests(void) {
        g_test_add_func("/plan-change/exhaustive/relabel", test_relabel);
        g_test_add_func("/plan-change/exhaustive/ownership", test_ownership);
}

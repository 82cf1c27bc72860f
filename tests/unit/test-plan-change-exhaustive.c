/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "combinations.h"
#include "plan-worlds.h"
#include "plan/plan-change.h"

/* plan_relabel() and plan_ownership() are called for every combination of what they decide on. */

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
        const char *word, *asked; /* NULL: the call names none, and the context of the last use counts */
        const char *canonical;    /* NULL: the context can't be used */
} contexts[] = {
        { "last", NULL, NULL },
        { "a", "system_u:object_r:container_file_t:s0:c1,c0", CONTEXT_A },
        { "b", CONTEXT_B, CONTEXT_B },
        { "without-level", NO_LEVEL, NO_LEVEL },
        { "type-not-allowed", "system_u:object_r:shadow_t:s0:c0,c1", NULL },
        { "malformed", "container_file_t", NULL },
};

/* The record of the last mount is used if nobody has the volume. */
static const struct {
        const char *word, *source, *fs_type;
        bool here;
        bool again; /* selvold can mount the volume again */
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
        const char *wanted; /* NULL: no context that can be used */
        gid_t gid;
        bool readers;
        ChangeInput in;
        Answer answer;
} Case;

/* --- the decisions --- */

enum { LABELS = 1, GROUPS = 2, BOTH = LABELS | GROUPS };

static void decide(const Case *c, unsigned what, Answer *a) {
        *a = (Answer){ 0 };
        a->r = what == LABELS ? plan_relabel(&c->in, &a->plan, &a->failure)
                              : plan_ownership(&c->in, c->gid, c->readers, &a->plan, &a->failure);
}

static bool input_decides(const Case *c, unsigned what) {
        Answer again;
        bool same;

        decide(c, what, &again);
        same = same_answer(&again, &c->answer);
        answer_done(&again);
        return same;
}

/* --- sentences about both --- */

static bool is_seen(const Case *c, const User *u) {
        return u->who == OWN || c->in.observed;
}

static bool host_path_is_left_alone(const Case *c, const Plan *p) {
        return !streq(c->in.volume->volume_type, "hostPath");
}

static bool reached_through_a_writer(const Case *c, const Plan *p) {
        const Holder *share = p->share;

        return !share || (share->state == HOLDER_MOUNTED && !share->read_only && share->volume == c->in.volume);
}

static bool mounted_only_as_it_was(const Case *c, const Plan *p) {
        return p->share || (!c->in.volume->holders && c->again && !(c->in.observed && c->in.observed->hidden));
}

static bool asks_nothing_of_the_runtime(const Case *c, const Plan *p) {
        return isempty(p->runtime_flag) && p->reason == REASON_REQUESTED;
}

static bool refusal_explains(const Case *c, const Plan *p) {
        return answer_explains(&c->answer);
}

/* --- sentences about labels --- */

static bool is_relabeled_here(const Case *c, const Plan *p) {
        return p->strategy == STRATEGY_RELABEL && p->relabel_here;
}

static bool labels_are_managed(const Case *c, const Plan *p) {
        return c->managed && (!c->in.node || c->in.node->selinux);
}

static bool context_was_asked_for(const Case *c, const Plan *p) {
        return c->wanted && streq(p->context, c->wanted) &&
               !(c->in.node && c->in.node->mls && streq(p->context, NO_LEVEL));
}

static bool labels_are_not_taken(const Case *c, const Plan *p) {
        /* selvold does not know whether there are levels before it has seen the node, and decides again
         * then. */
        if (!c->in.node && streq(p->context, NO_LEVEL))
                return true;
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && u->strategy == STRATEGY_RELABEL && !streq(u->context, p->context))
                        return false;
        return true;
}

static bool context_mount_is_not_relabeled(const Case *c, const Plan *p) {
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && u->strategy == STRATEGY_CONTEXT_MOUNT)
                        return false;
        return true;
}

static bool who_relies_on_none_is_in_nobodys_way(const Case *c, const Plan *p) {
        bool found = c->answer.r != FAILURE_CONTEXT_CONFLICT;

        for (const User *u = c->users; u->who != NOBODY; u++)
                found = found || u->strategy == STRATEGY_RELABEL;
        return found;
}

static bool mark_claims_no_more(const Case *c, const Plan *p) {
        for (const User *u = c->users; u->who != NOBODY; u++)
                if (is_seen(c, u) && !u->reader && !u->here && p->change < MARK_RESET_LABELS)
                        return false;
        return true;
}

/* --- sentences about groups --- */

static bool gives_the_group(const Case *c, const Plan *p) {
        return p->ownership == OWNERSHIP_WALK && p->fs_group == c->gid && p->readers == c->readers;
}

static bool labels_are_left_alone(const Case *c, const Plan *p) {
        return p->strategy == STRATEGY_NONE && !p->relabel_here && isempty(p->context) && p->change == MARK_KEEP;
}

static bool mount_shows_the_group(const Case *c, const Plan *p) {
        return !p->share || !holder_is_mapped(p->share) || p->share->fs_group == c->gid;
}

static const struct {
        unsigned of;
        const char *sentence;
        bool (*holds)(const Case *c, const Plan *p);
        bool of_refusals; /* the sentence is also true of refusals */
} invariants[] = {
        { BOTH, "a hostPath is left alone", host_path_is_left_alone },
        { BOTH, "files are reached through the mount of a holder who writes", reached_through_a_writer },
        { BOTH, "only what nobody has is mounted, and only as it was", mounted_only_as_it_was },
        { BOTH, "the runtime is asked for nothing", asks_nothing_of_the_runtime },
        { BOTH, "a refusal has its kind and says why", refusal_explains, true },
        { LABELS, "files are relabeled here", is_relabeled_here },
        { LABELS, "only labels that are managed are changed", labels_are_managed },
        { LABELS, "the context is the one that was asked for, with a level where there are levels",
          context_was_asked_for },
        { LABELS, "labels are not taken from a holder who relies on them", labels_are_not_taken },
        { LABELS, "what is mounted with a context is not relabeled", context_mount_is_not_relabeled },
        { LABELS, "who relies on no labels is in nobody's way", who_relies_on_none_is_in_nobodys_way, true },
        { LABELS, "the mark claims no more than is true with all who may write", mark_claims_no_more },
        { GROUPS, "files get the group", gives_the_group },
        { GROUPS, "labels are left alone", labels_are_left_alone },
        { GROUPS, "the mount shows groups as they are, or the one wanted", mount_shows_the_group },
};

/* --- the cases --- */

typedef struct Context {
        Settings settings;
        Fixture worlds[WORLDS];
} Context;

static Case make_case(Context *x, size_t world, size_t kind, size_t mount, bool looked) {
        Volume *v = fixture_volume(&x->worlds[world], TEST_VOLUME);

        set_text(&v->volume_type, kinds[kind].type);
        set_text(&v->driver, kinds[kind].driver);
        v->access_mode = kinds[kind].mode;
        set_text(&v->source, mounts[mount].source);
        set_text(&v->mount_type, mounts[mount].fs_type);
        v->identity = (Identity){ "ext4:" UUID_1 };
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

static void check(Case *c, unsigned what, const Dimension *dimensions, size_t n_dimensions, const size_t *choice) {
        const Answer *a = &c->answer;
        const char *wrong = NULL;

        decide(c, what, &c->answer);
        for (size_t i = 0; !wrong && i < G_N_ELEMENTS(invariants); i++)
                if ((invariants[i].of & what) && (a->r == 0 || invariants[i].of_refusals) &&
                    !invariants[i].holds(c, &a->plan))
                        wrong = invariants[i].sentence;
        if (!wrong && !input_decides(c, what))
                wrong = "the same input gives the same plan and reason";
        if (wrong)
                combination_fail(dimensions, n_dimensions, choice, wrong,
                                 a->r != 0 ? a->failure.message : a->plan.text);
        answer_done(&c->answer);
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

        /* Where there are no levels, selvold knows the context of each holder. */
        if (u->strategy == STRATEGY_RELABEL && isempty(u->context) && nodes[choice[L_NODE]].seen &&
            !nodes[choice[L_NODE]].node.mls)
                return false;
        c = make_case(data, choice[L_WORLD], choice[L_KIND], choice[L_MOUNT], flags[choice[L_LOOKED]].is);

        c.in.node = nodes[choice[L_NODE]].seen ? &nodes[choice[L_NODE]].node : NULL;
        c.in.context = contexts[choice[L_CONTEXT]].asked;
        c.wanted = c.in.context ? contexts[choice[L_CONTEXT]].canonical : c.in.volume->context;
        check(&c, LABELS, label_dimensions, L_DIMENSIONS, choice);
        return true;
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
        check(&c, GROUPS, group_dimensions, G_DIMENSIONS, choice);
        return true;
}

static void try_all(const Dimension *dimensions, size_t n, CombinationFunc function) {
        Context x = { .settings = test_settings("[Driver eager];SELinuxMountSupported=yes;"
                                                "[VolumeType hostPath];Managed=always") };

        worlds_build(x.worlds);
        combinations_try(dimensions, n, function, &x);
        worlds_done(x.worlds);
}

static void test_relabel(void) {
        try_all(label_dimensions, L_DIMENSIONS, try_relabel);
}

static void test_ownership(void) {
        try_all(group_dimensions, G_DIMENSIONS, try_ownership);
}

void add_tests(void) {
        g_test_add_func("/plan-change/exhaustive/relabel", test_relabel);
        g_test_add_func("/plan-change/exhaustive/ownership", test_ownership);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "combinations.h"
#include "plan-worlds.h"

/* plan_make() is called for every combination of what it decides on, and each answer has to satisfy all
 * sentences. */

/* --- what a decision depends on --- */

static const struct {
        const char *word;
        Node node;
} nodes[] = {
        { "off", { 0 } },
        { "levels", { .selinux = true, .enforcing = true, .mls = true, .file_context = (char *) TEST_FILE_CONTEXT } },
        { "no-levels", { .selinux = true, .enforcing = true, .file_context = (char *) NO_LEVEL } },
        { "no-container-types", { .selinux = true, .enforcing = true, .mls = true } },
};

static const struct {
        const char *word;
        bool relabel_policy, mount;
} gates[] = { { "on", true, true }, { "one-pod-only", true, false }, { "off", false, true } };

static const struct {
        const char *word;
        int policy;
        RelabelPolicy by_default;
} policies[] = {
        { "always", RELABEL_ALWAYS, RELABEL_ON_VOLUME_MOUNT },
        { "mount", RELABEL_ON_VOLUME_MOUNT, RELABEL_ALWAYS },
        { "mount-by-default", -1, RELABEL_ON_VOLUME_MOUNT },
};

static const struct {
        const char *word, *type, *driver;
        AccessMode mode;
        int says;
        bool managed, supports;
} kinds[] = {
        { "csi", "csi", NULL, ACCESS_READ_WRITE_ONCE, -1, true, false },
        { "csi-supported", "csi", NULL, ACCESS_READ_WRITE_ONCE, 1, true, true },
        { "csi-supported-for-one-pod", "csi", NULL, ACCESS_READ_WRITE_ONCE_POD, 1, true, true },
        { "csi-supported-shared", "csi", NULL, ACCESS_READ_WRITE_MANY, 1, true, true },
        { "hostPath", "hostPath", "eager", ACCESS_READ_WRITE_ONCE, 1, false, false },
        { "cephfs", "cephfs", NULL, ACCESS_READ_WRITE_MANY, -1, false, false },
        { "rbd", "rbd", NULL, ACCESS_READ_WRITE_ONCE, -1, true, true },
        { "rbd-for-one-pod", "rbd", NULL, ACCESS_READ_WRITE_ONCE_POD, -1, true, true },
        { "rbd-shared", "rbd", NULL, ACCESS_READ_WRITE_MANY, -1, false, true },
};

static const struct {
        const char *word, *level, *context;
} labels[] = { { "none", NULL, NULL }, { "level", "s0:c0,c1", NULL }, { "context-without-level", NULL, NO_LEVEL } };

/* The index of a word is the value. */
static const char *const relabelers[] = {
        [RELABEL_BY_RUNTIME] = "runtime", [RELABEL_BY_SERVICE] = "service", [RELABEL_BY_NONE] = "none"
};

static const struct {
        const char *word, *type;
        int seclabel;
} file_systems[] = { { "ext4", "ext4", -1 }, { "ext4-unlabeled", "ext4", 0 }, { "unknown", NULL, -1 } };

static const struct {
        const char *word;
        bool read_only, device_read_only;
        gid_t group;
        int group_policy;
} accesses[] = {
        { "rw", false, false, GID_NONE, -1 },
        { "rw-group", false, false, 1000, FS_GROUP_FILE },
        { "ro", true, false, GID_NONE, -1 },
        { "ro-device-group", false, true, 1000, -1 },
};

/* Contexts of a mount that somebody else has made at the target, and that is to be adopted. */
static const struct {
        const char *word, *context;
} adoptions[] = { { "no", NULL }, { "plain", "" }, { "context-a", CONTEXT_A }, { "context-b", CONTEXT_B } };

enum { NODE, GATES, POLICY, KIND, LABEL, BY, FILE_SYSTEM, ACCESS, ADOPTION, WORLD, DIMENSIONS };

static const Dimension dimensions[DIMENSIONS] = {
        [NODE] = DIMENSION("node", nodes),
        [GATES] = DIMENSION("gates", gates),
        [POLICY] = DIMENSION("policy", policies),
        [KIND] = DIMENSION("kind", kinds),
        [LABEL] = DIMENSION("label", labels),
        [BY] = DIMENSION("relabel-by", relabelers),
        [FILE_SYSTEM] = DIMENSION("file-system", file_systems),
        [ACCESS] = DIMENSION("access", accesses),
        [ADOPTION] = DIMENSION("adoption", adoptions),
        [WORLD] = DIMENSION("world", worlds),
};

/* --- the cases --- */

typedef struct Case {
        const size_t *choice;
        Request request;
        MountFact mounted;
        PlanInput in;
        Answer answer;
        const Answer *alone; /* the answer to the same request while nobody has the volume */
} Case;

typedef struct Context {
        Settings settings;
        Fixture worlds[WORLDS];
        size_t alone_choice[DIMENSIONS];
        Answer alone;
} Context;

static Request request_of(const size_t *choice) {
        Request q = REQUEST_INIT;

        q.by_root = true;
        q.volume = (char *) TEST_VOLUME;
        q.source = (char *) "/dev/vdb";
        q.target = q.holder = (char *) TARGET_2;
        q.fs_type = (char *) file_systems[choice[FILE_SYSTEM]].type;
        q.driver = (char *) kinds[choice[KIND]].driver;
        q.volume_type = (char *) kinds[choice[KIND]].type;
        q.access_mode = kinds[choice[KIND]].mode;
        q.context = (char *) labels[choice[LABEL]].context;
        q.level = (char *) labels[choice[LABEL]].level;
        q.policy = policies[choice[POLICY]].policy;
        q.selinux_mount_supported = kinds[choice[KIND]].says;
        q.read_only = accesses[choice[ACCESS]].read_only;
        q.relabel_by = (RelabelBy) choice[BY];
        q.fs_group = accesses[choice[ACCESS]].group;
        q.fs_group_policy = accesses[choice[ACCESS]].group_policy;
        return q;
}

/* A superblock has one context, or none; and where there are no levels, selvold knows the context of each
 * holder. */
static bool world_is_possible(const size_t *choice) {
        const User *u = &worlds[choice[WORLD]].users[0];
        const char *adopted = adoptions[choice[ADOPTION]].context;

        if (u->strategy == STRATEGY_RELABEL && isempty(u->context) && !nodes[choice[NODE]].node.mls)
                return false;
        if (!adopted)
                return true;
        if (worlds[choice[WORLD]].hidden || accesses[choice[ACCESS]].device_read_only)
                return false;
        return u->who == NOBODY || streq(adopted, u->strategy == STRATEGY_CONTEXT_MOUNT ? u->context : "");
}

static void case_set_up(Case *c, Context *x, const size_t *choice) {
        const char *adopted = adoptions[choice[ADOPTION]].context;
        Fixture *world = &x->worlds[choice[WORLD]];
        int seclabel = file_systems[choice[FILE_SYSTEM]].seclabel;

        x->settings.gate_relabel_policy = gates[choice[GATES]].relabel_policy;
        x->settings.gate_mount = gates[choice[GATES]].mount;
        x->settings.default_policy = policies[choice[POLICY]].by_default;
        world->observed.device_read_only = accesses[choice[ACCESS]].device_read_only;
        *c = (Case){
                .choice = choice,
                .request = request_of(choice),
                .mounted = { .target = (char *) TARGET_2,
                             .context = (char *) adopted,
                             .read_only = accesses[choice[ACCESS]].read_only,
                             .seclabel = isempty(adopted) && seclabel != 0 },
        };
        c->in = (PlanInput){
                .node = &nodes[choice[NODE]].node,
                .settings = &x->settings,
                .request = &c->request,
                .volumes = &world->volumes,
                .observed = &world->observed,
                .seclabel = adopted ? c->mounted.seclabel : seclabel,
                .mounted = adopted ? &c->mounted : NULL,
        };
}

static void answer_make(const PlanInput *in, Answer *a) {
        *a = (Answer){ 0 };
        a->r = plan_make(in, &a->plan, &a->failure);
}

/* --- the sentences --- */

static bool has_selinux(const Case *c) {
        return c->in.node->selinux;
}

static bool is_managed(const Case *c) {
        return kinds[c->choice[KIND]].managed;
}

static bool is_adopted(const Case *c) {
        return c->in.mounted;
}

static bool shows_context(const Case *c, const Plan *p) {
        return p->strategy == STRATEGY_CONTEXT_MOUNT ||
               (is_adopted(c) && !isempty(c->mounted.context) && has_selinux(c));
}

static bool changes_labels(const Plan *p) {
        return p->relabel_here || !isempty(p->runtime_flag);
}

static const User *users_of(const Case *c) {
        return worlds[c->choice[WORLD]].users;
}

static bool flag_is_known(const Case *c, const Plan *p) {
        return streq(p->runtime_flag, "") || streq(p->runtime_flag, "Z");
}

static bool context_mount_is_not_relabeled(const Case *c, const Plan *p) {
        return !shows_context(c, p) || !changes_labels(p);
}

static bool host_path_is_left_alone(const Case *c, const Plan *p) {
        return !streq(c->request.volume_type, "hostPath") ||
               (!changes_labels(p) && p->fs_group == GID_NONE && p->ownership == OWNERSHIP_NONE &&
                (p->strategy == STRATEGY_NONE || is_adopted(c)));
}

static bool disabled_does_nothing(const Case *c, const Plan *p) {
        return has_selinux(c) || (p->strategy == STRATEGY_NONE && isempty(p->context));
}

static bool labels_are_not_taken(const Case *c, const Plan *p) {
        for (const User *u = users_of(c); changes_labels(p) && u->who != NOBODY; u++)
                if (u->strategy == STRATEGY_RELABEL && !streq(u->context, p->context))
                        return false;
        return true;
}

static bool superblock_has_one_context(const Case *c, const Plan *p) {
        for (const User *u = users_of(c); u->who != NOBODY; u++) {
                if ((u->strategy == STRATEGY_CONTEXT_MOUNT) != (p->strategy == STRATEGY_CONTEXT_MOUNT))
                        return false;
                if (u->strategy == STRATEGY_CONTEXT_MOUNT && !streq(u->context, p->context))
                        return false;
        }
        return true;
}

static bool conflict_is_one(const Case *c, const Plan *p) {
        bool found = c->answer.r != FAILURE_CONTEXT_CONFLICT || worlds[c->choice[WORLD]].hidden;

        for (const User *u = users_of(c); u->who != NOBODY; u++)
                if (p->strategy == STRATEGY_CONTEXT_MOUNT || u->strategy == STRATEGY_CONTEXT_MOUNT)
                        found = true;
                else if (u->strategy == STRATEGY_RELABEL && p->strategy == STRATEGY_RELABEL)
                        found = true;
        return found;
}

static bool relies_on_none(const Case *c, const Plan *p) {
        return c->request.relabel_by != RELABEL_BY_NONE || !changes_labels(p);
}

static bool level_is_not_needed(const Case *c, const Plan *p) {
        return c->request.relabel_by != RELABEL_BY_NONE || c->answer.r != FAILURE_LEVEL_REQUIRED;
}

static bool reader_writes_nothing(const Case *c, const Plan *p) {
        return !p->read_only ||
               (!changes_labels(p) && p->strategy != STRATEGY_RELABEL && p->ownership != OWNERSHIP_WALK);
}

static bool context_was_asked_for(const Case *c, const Plan *p) {
        const char *policys = c->in.node->mls ? "" : c->in.node->file_context;

        if (isempty(p->context))
                return true;
        if (c->request.level)
                return streq(p->context, CONTEXT_A);
        return streq(p->context, strempty(c->request.context)) ||
               (is_adopted(c) && streq(p->context, strempty(c->mounted.context))) ||
               streq(p->context, strempty(policys));
}

static bool adopted_is_what_is_mounted(const Case *c, const Plan *p) {
        if (!is_adopted(c) || !has_selinux(c))
                return true;
        return isempty(c->mounted.context) ? p->strategy != STRATEGY_CONTEXT_MOUNT
                                           : streq(p->context, c->mounted.context);
}

static bool context_mount_is_allowed(const Case *c, const Plan *p) {
        bool asked = c->request.policy == RELABEL_ON_VOLUME_MOUNT ||
                     (c->request.policy < 0 && c->in.settings->default_policy == RELABEL_ON_VOLUME_MOUNT);

        if (is_adopted(c) || p->strategy != STRATEGY_CONTEXT_MOUNT)
                return true;
        return asked && kinds[c->choice[KIND]].supports && gates[c->choice[GATES]].relabel_policy &&
               (gates[c->choice[GATES]].mount || c->request.access_mode == ACCESS_READ_WRITE_ONCE_POD);
}

/* The context, the file system, and whether it keeps labels may be unknown. */
static bool nothing_unknown_prevents_relabel(const Case *c, const Plan *p) {
        bool keeps_labels = file_systems[c->choice[FILE_SYSTEM]].type && c->in.seclabel != 0;

        return !has_selinux(c) || !is_managed(c) || p->read_only || !keeps_labels || shows_context(c, p) ||
               c->request.relabel_by == RELABEL_BY_NONE || changes_labels(p);
}

static bool service_relabels_if_asked(const Case *c, const Plan *p) {
        return p->strategy != STRATEGY_RELABEL ||
               (p->relabel_here == (c->request.relabel_by == RELABEL_BY_SERVICE && !isempty(p->context)) &&
                p->relabel_here == isempty(p->runtime_flag));
}

static MarkChange least_change_by(bool writes, Strategy strategy, bool here) {
        if (!writes || here)
                return MARK_KEEP;
        return strategy == STRATEGY_CONTEXT_MOUNT ? MARK_TAINT : MARK_RESET_LABELS;
}

static bool mark_claims_no_more(const Case *c, const Plan *p) {
        MarkChange least = least_change_by(!p->read_only, p->strategy, p->relabel_here);

        /* Without SELinux a file gets no label, which is a taint. */
        if (!has_selinux(c) && least == MARK_RESET_LABELS && is_managed(c))
                least = MARK_TAINT;
        /* A hidden user may write, too. */
        if (c->in.observed->hidden && p->strategy != STRATEGY_CONTEXT_MOUNT)
                least = MAX(least, MARK_RESET_LABELS);
        for (const User *u = users_of(c); u->who != NOBODY; u++) {
                /* The adopted mount was made of a mount of the driver's own, which is no other use of the
                 * volume. */
                bool is_drivers = is_adopted(c) && u->who == STRANGER && u->strategy == STRATEGY_NONE;

                if (!is_drivers)
                        least = MAX(least, least_change_by(!u->reader, u->strategy, u->here));
        }
        return p->change >= least;
}

static bool others_decide_whether_not_how(const Case *c, const Plan *p) {
        const Plan *alone = &c->alone->plan;

        if (c->alone->r != 0)
                return c->answer.r == c->alone->r && same_text(c->answer.failure.message, c->alone->failure.message);
        return c->answer.r != 0 ||
               (p->strategy == alone->strategy && streq(p->context, alone->context) &&
                streq(p->runtime_flag, alone->runtime_flag) && p->relabel_here == alone->relabel_here &&
                p->ownership == alone->ownership && p->fs_group == alone->fs_group && p->change >= alone->change &&
                (p->reason == alone->reason || p->reason == REASON_CONTEXT_SHARED));
}

/* The mount at TARGET_2 is the one that the plan replaces. */
static bool shared_mount_is_there(const Case *c, const Plan *p) {
        return !p->share || (p->share->state == HOLDER_MOUNTED && streq(p->share->volume->id, TEST_VOLUME) &&
                             !streq(p->share->target, TARGET_2));
}

static bool refusal_explains(const Case *c, const Plan *p) {
        return answer_explains(&c->answer);
}

static bool input_decides(const Case *c, const Plan *p) {
        Answer again;
        bool same;

        answer_make(&c->in, &again);
        same = same_answer(&c->answer, &again);
        answer_done(&again);
        return same;
}

static bool look_changes_nothing(const Case *c, const Plan *p) {
        Observed unseen = *c->in.observed;
        PlanInput in = c->in;
        Answer before;
        bool same;

        if (is_adopted(c) || unseen.n_mounts == 0)
                return true;
        unseen.mounts = NULL;
        unseen.n_mounts = 0;
        unseen.mounts_unknown = true;
        in.observed = &unseen;
        answer_make(&in, &before);
        if (before.plan.change == MARK_TAINT && p->change == MARK_RESET_LABELS)
                before.plan.change = MARK_RESET_LABELS; /* neither lets labels be skipped */
        same = before.r != 0 || plan_needs_mounts(&before.plan, in.volumes, TEST_VOLUME) ||
               same_answer(&before, &c->answer);
        answer_done(&before);
        return same;
}

static const struct {
        const char *sentence;
        bool (*holds)(const Case *c, const Plan *p);
        bool of_refusals; /* the sentence is also true of refusals; their plan says what was wanted */
} invariants[] = {
        { "the flag is Z or empty", flag_is_known },
        { "what is mounted with a context is relabeled by nobody", context_mount_is_not_relabeled },
        { "a hostPath is left alone", host_path_is_left_alone },
        { "with SELinux off nothing is done", disabled_does_nothing },
        { "labels are not taken from a holder who relies on them", labels_are_not_taken },
        { "a superblock has one context or none", superblock_has_one_context },
        { "only another context, or labels that both rely on, are a conflict", conflict_is_one, true },
        { "for who relies on no labels nothing is relabeled", relies_on_none },
        { "who relies on no labels needs no level", level_is_not_needed, true },
        { "a reader writes nothing", reader_writes_nothing },
        { "a context is asked for, mounted or the policy's", context_was_asked_for },
        { "what is adopted is recorded as it is mounted", adopted_is_what_is_mounted },
        { "a context mount is asked for, supported and allowed by the gates", context_mount_is_allowed },
        { "nothing that is unknown prevents a relabel", nothing_unknown_prevents_relabel },
        { "the service relabels where asked to, if it knows the context, and otherwise the runtime",
          service_relabels_if_asked },
        { "the mark claims no more than is true with all who may write", mark_claims_no_more },
        { "others decide whether it is done, not how", others_decide_whether_not_how, true },
        { "what is shared is mounted, for the same volume, elsewhere", shared_mount_is_there },
        { "a refusal has its kind and says why", refusal_explains, true },
        { "the same input gives the same plan and reason", input_decides, true },
        { "what needs no look at the mounts is the same after one", look_changes_nothing, true },
};

static void check(const Case *c, const char *sentence, bool holds) {
        const Answer *a = &c->answer;
        g_autofree char *text = NULL;

        if (holds)
                return;
        text = a->r != 0 ? g_strdup(a->failure.message)
                         : g_strdup_printf("%s %s, flag '%s', context '%s', mark %s",
                                           strategy_to_string(a->plan.strategy), reason_to_string(a->plan.reason),
                                           a->plan.runtime_flag, a->plan.context,
                                           mark_change_to_string(a->plan.change));
        combination_fail(dimensions, DIMENSIONS, c->choice, sentence, text);
}

/* The world is the last dimension, so the answer for the world without users serves many combinations in
 * turn. */
static void answer_alone(Context *x, const size_t *choice) {
        size_t alone_choice[DIMENSIONS];
        Case c;

        memcpy(alone_choice, choice, sizeof(alone_choice));
        alone_choice[WORLD] = 0;
        if (memcmp(alone_choice, x->alone_choice, sizeof(alone_choice)) == 0)
                return;
        memcpy(x->alone_choice, alone_choice, sizeof(alone_choice));
        case_set_up(&c, x, alone_choice);
        answer_done(&x->alone);
        answer_make(&c.in, &x->alone);
}

static bool try_combination(const size_t *choice, void *data) {
        Context *x = data;
        Case c;

        if (!world_is_possible(choice))
                return false;
        answer_alone(x, choice);
        case_set_up(&c, x, choice);
        c.alone = &x->alone;
        answer_make(&c.in, &c.answer);
        for (size_t i = 0; i < G_N_ELEMENTS(invariants); i++)
                if (c.answer.r == 0 || invariants[i].of_refusals)
                        check(&c, invariants[i].sentence, invariants[i].holds(&c, &c.answer.plan));
        answer_done(&c.answer);
        return true;
}

static void test_all(void) {
        Context x = { .settings = test_settings("[Driver eager];Managed=always;SELinuxMountSupported=yes;"
                                                "[VolumeType hostPath];Managed=always"),
                      .alone_choice = { SIZE_MAX } };

        worlds_build(x.worlds);
        combinations_try(dimensions, DIMENSIONS, try_combination, &x);
        answer_done(&x.alone);
        worlds_done(x.worlds);
}

void add_tests(void) {
        g_test_add_func("/plan/exhaustive", test_all);
}

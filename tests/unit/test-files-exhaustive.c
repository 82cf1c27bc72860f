/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "combinations.h"
#include "plan/plan-files.h"
#include "support.h"

/* files_decide(), for every combination of what it decides on. Labels and groups are decided apart, so they are tried apart;
 * that they are is one of the sentences. */

#define CONTEXT_A  "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_A2 "system_u:object_r:container_file_t:s0:c1,c3"
#define CONTEXT_B  "system_u:object_r:container_file_t:s0:c3,c4"

enum { G = 1000, D = 2000 };

static const struct {
        const char *word;
        MarkFound found;
} founds[] = { { "absent", MARK_ABSENT },
               { "unsupported", MARK_UNSUPPORTED },
               { "invalid", MARK_INVALID },
               { "present", MARK_PRESENT } };

static const struct {
        const char *word;
        FilesState state;
} states[] = { { "unknown", FILES_UNKNOWN }, { "partial", FILES_PARTIAL }, { "complete", FILES_COMPLETE } };

static const struct {
        const char *word, *context;
} contexts[] = { { "none", NULL }, { "empty", "" }, { "a", CONTEXT_A }, { "a2", CONTEXT_A2 }, { "b", CONTEXT_B } };

static const struct {
        const char *word;
        MarkBelief belief;
} beliefs[] = { { "no", MARK_ELSEWHERE }, { "trusted", MARK_TRUSTED }, { "yes", MARK_BELIEVED } };

static void fail(const Dimension *dimensions, size_t n, const size_t *choice, const char *sentence,
                 const FilesDecision *d) {
        g_autofree char *text =
                g_strdup_printf("labels %s (%s)%s, group %s (%s) %u, on disk %u",
                                relabel_action_to_string(d->relabel), relabel_reason_to_string(d->relabel_reason),
                                d->blind ? " blind" : "", ownership_action_to_string(d->ownership),
                                ownership_reason_to_string(d->ownership_reason), d->gid, d->disk_gid);

        combination_fail(dimensions, n, choice, sentence, text);
}

static bool same_decision(const FilesDecision *a, const FilesDecision *b) {
        return a->relabel == b->relabel && a->relabel_reason == b->relabel_reason && a->blind == b->blind &&
               a->ownership == b->ownership && a->ownership_reason == b->ownership_reason && a->gid == b->gid &&
               a->disk_gid == b->disk_gid;
}

/* What is not there says nothing; but of a copy that was kept it isn't known what was found. */
static bool mark_is_possible(const Mark *m) {
        const Mark copy = { 0 };

        if (m->found == MARK_PRESENT || m->found == copy.found)
                return mark_is_consistent(m);
        return m->label_state == FILES_UNKNOWN && m->ownership_state == FILES_UNKNOWN && !m->tainted &&
               mark_is_consistent(m);
}

/* --- labels --- */

enum { L_WANTED, L_FORCE, L_FOUND, L_BELIEVED, L_STATE, L_CONTEXT, L_TAINTED, L_ROOT, L_DIMENSIONS };

static const Dimension label_dimensions[L_DIMENSIONS] = {
        [L_WANTED] = DIMENSION("wanted", contexts), [L_FORCE] = DIMENSION("force", flags),
        [L_FOUND] = DIMENSION("found", founds),     [L_BELIEVED] = DIMENSION("believed", beliefs),
        [L_STATE] = DIMENSION("state", states),     [L_CONTEXT] = DIMENSION("of", contexts),
        [L_TAINTED] = DIMENSION("tainted", flags),  [L_ROOT] = DIMENSION("root", contexts),
};

typedef struct Labels {
        FilesWanted wanted;
        Mark mark;
        FilesSeen seen;
        FilesDecision d;
} Labels;

static bool nothing_wanted_nothing_done(const Labels *l) {
        return !isempty(l->wanted.context) || (l->d.relabel == RELABEL_NONE && !l->d.blind);
}

/* The mark can be relied on, and the root has the label that it speaks of. */
static bool label_is_known(const Labels *l) {
        return !isempty(l->wanted.context) && !l->wanted.force && l->seen.belief != MARK_ELSEWHERE &&
               l->mark.label_state == FILES_COMPLETE && !l->mark.tainted &&
               streq(l->mark.context, strempty(l->seen.root_context));
}

static bool label_skip_is_known_to_be_right(const Labels *l) {
        return (l->d.relabel == RELABEL_SKIP) ==
               (label_is_known(l) && streq(l->seen.root_context, l->wanted.context));
}

static bool label_is_not_left_undone(const Labels *l) {
        return isempty(l->wanted.context) || l->d.relabel == RELABEL_SKIP || l->d.relabel == RELABEL_WALK;
}

static bool blind_is_known_to_be_wrong(const Labels *l) {
        return l->d.blind == (label_is_known(l) && !streq(l->seen.root_context, l->wanted.context)) &&
               (!l->d.blind || l->d.relabel == RELABEL_WALK);
}

static bool label_reason_is_true(const Labels *l) {
        const Mark *m = &l->mark;

        if (l->d.relabel == RELABEL_NONE)
                return true;
        switch (l->d.relabel_reason) {
        case RELABEL_REASON_FORCED:
                return l->wanted.force;
        case RELABEL_REASON_UNKNOWN:
                return m->label_state == FILES_UNKNOWN;
        case RELABEL_REASON_PARTIAL:
                return m->label_state == FILES_PARTIAL;
        case RELABEL_REASON_TAINTED:
                return m->tainted;
        case RELABEL_REASON_ELSEWHERE:
                return l->seen.belief == MARK_ELSEWHERE;
        case RELABEL_REASON_OTHER_CONTEXT:
                return !streq(m->context, l->wanted.context);
        case RELABEL_REASON_TRUSTED:
                return l->seen.belief == MARK_TRUSTED;
        case RELABEL_REASON_COMPLETE:
                return l->seen.belief == MARK_BELIEVED;
        default:
                return m->label_state == FILES_COMPLETE && streq(m->context, l->wanted.context);
        }
}

static bool unknown_label_is_walked(const Labels *l) {
        const Mark unknown = { .found = l->mark.found };
        const FilesSeen seen = { .mark = &unknown, .belief = l->seen.belief, .root_context = l->seen.root_context };
        const FilesDecision d = files_decide(&l->wanted, &seen);

        return isempty(l->wanted.context) || (d.relabel == RELABEL_WALK && !d.blind);
}

static bool labels_leave_groups_alone(const Labels *l) {
        return l->d.ownership == OWNERSHIP_NONE && l->d.gid == GID_NONE && l->d.disk_gid == GID_NONE;
}

static bool label_input_decides(const Labels *l) {
        const FilesDecision again = files_decide(&l->wanted, &l->seen);

        return same_decision(&l->d, &again);
}

static const struct {
        const char *sentence;
        bool (*holds)(const Labels *l);
} label_invariants[] = {
        { "where no label is wanted none is given", nothing_wanted_nothing_done },
        { "labels are skipped just if the mark and the root say that they are right",
          label_skip_is_known_to_be_right },
        { "labels that are not skipped are given", label_is_not_left_undone },
        { "labels are written without comparing just if the mark and the root say that all are wrong",
          blind_is_known_to_be_wrong },
        { "the reason for labels is true", label_reason_is_true },
        { "where nothing is known all files are visited", unknown_label_is_walked },
        { "labels leave groups alone", labels_leave_groups_alone },
        { "the same input gives the same decision", label_input_decides },
};

/* How often what has to be earned by every condition at once is. */
typedef struct Counts {
        size_t skips, blind, maps;
} Counts;

static bool try_labels(const size_t *choice, void *data) {
        Counts *counts = data;
        Labels l = {
                .wanted = FILES_WANTED_INIT,
                .mark = { .found = founds[choice[L_FOUND]].found,
                          .label_state = states[choice[L_STATE]].state,
                          .context = (char *) contexts[choice[L_CONTEXT]].context,
                          .tainted = flags[choice[L_TAINTED]].is },
        };

        if (!mark_is_possible(&l.mark))
                return false;
        l.wanted.context = (char *) contexts[choice[L_WANTED]].context;
        l.wanted.force = flags[choice[L_FORCE]].is;
        l.seen = (FilesSeen){ .mark = &l.mark,
                              .belief = beliefs[choice[L_BELIEVED]].belief,
                              .root_context = contexts[choice[L_ROOT]].context };
        l.d = files_decide(&l.wanted, &l.seen);
        for (size_t i = 0; i < G_N_ELEMENTS(label_invariants); i++)
                if (!label_invariants[i].holds(&l))
                        fail(label_dimensions, L_DIMENSIONS, choice, label_invariants[i].sentence, &l.d);
        counts->skips += l.d.relabel == RELABEL_SKIP;
        counts->blind += l.d.blind;
        return true;
}

static void test_labels(void) {
        Counts counts = { 0 };

        g_assert_true(combinations_try(label_dimensions, L_DIMENSIONS, try_labels, &counts));
        /* The mark was read or is a copy; it is trusted or believed. Of three contexts two pairs are wrong. */
        g_assert_cmpuint(counts.skips, ==, 2 * 2 * 3);
        g_assert_cmpuint(counts.blind, ==, 2 * 2 * 3 * 2);
}

/* --- groups --- */

static const struct {
        const char *word;
        OwnershipAction action;
} actions[] = { { "none", OWNERSHIP_NONE },
                { "option", OWNERSHIP_OPTION },
                { "walk", OWNERSHIP_WALK },
                { "map", OWNERSHIP_MAP } };

static const struct {
        const char *word;
        FSGroupChangePolicy policy;
        bool given;
} policies[] = { { "always", FS_GROUP_CHANGE_ALWAYS, true },
                 { "on-root-mismatch", FS_GROUP_CHANGE_ON_ROOT_MISMATCH, true },
                 { "always-by-default", FS_GROUP_CHANGE_ALWAYS, false },
                 { "on-root-mismatch-by-default", FS_GROUP_CHANGE_ON_ROOT_MISMATCH, false } };

static const struct {
        const char *word;
        gid_t gid;
} swaps[] = { { "no", GID_NONE }, { "d", D } }, wishes[] = { { "g", G }, { "root", 0 } };

/* Beside the one that is wanted; root's is one like others. */
static const struct { const char *word; } gids[] = { { "wanted" }, { "d" }, { "other" } };
static const gid_t gids_of[][3] = { { G, D, 0 }, { 0, D, G } };

static const struct {
        const char *word;
        mode_t mode;
        bool writers, readers; /* suits them */
} modes[] = { { "2770", S_IFDIR | S_ISGID | 0770, true, true },
              { "2750", S_IFDIR | S_ISGID | 0750, false, true },
              { "2550", S_IFDIR | S_ISGID | 0550, false, true },
              { "0770", S_IFDIR | 0770, false, false },
              { "file", S_IFREG | 0660, false, false },
              { "file-2770", S_IFREG | S_ISGID | 0770, false, false },
              { "unknown", 0, false, false } };

enum {
        WISH,
        ACTION,
        POLICY,
        FORCE,
        GATE,
        READERS,
        USER_NAMESPACE,
        ON_DISK,
        MOUNTED,
        SWAP,
        LABEL,
        FOUND,
        BELIEVED,
        STATE,
        GID,
        ROOT_GID,
        MODE,
        DIMENSIONS
};

static const Dimension dimensions[DIMENSIONS] = {
        [WISH] = DIMENSION("group", wishes),
        [ACTION] = DIMENSION("wanted", actions),
        [POLICY] = DIMENSION("policy", policies),
        [FORCE] = DIMENSION("force", flags),
        [GATE] = DIMENSION("gate", flags),
        [READERS] = DIMENSION("readers", flags),
        [USER_NAMESPACE] = DIMENSION("user-namespace", flags),
        [ON_DISK] = DIMENSION("on-disk", flags),
        [MOUNTED] = DIMENSION("mounted", flags),
        [SWAP] = DIMENSION("shared-mount-swaps-with", swaps),
        [LABEL] = DIMENSION("label-wanted", flags),
        [FOUND] = DIMENSION("found", founds),
        [BELIEVED] = DIMENSION("believed", beliefs),
        [STATE] = DIMENSION("state", states),
        [GID] = DIMENSION("of", gids),
        [ROOT_GID] = DIMENSION("root-shows", gids),
        [MODE] = DIMENSION("root-mode", modes),
};

typedef struct Groups {
        const size_t *choice;
        FilesWanted wanted;
        Mark mark;
        FilesSeen seen;
        FilesDecision d;
} Groups;

static bool is_decided_here(const Groups *g) {
        return g->wanted.ownership == OWNERSHIP_WALK || g->wanted.ownership == OWNERSHIP_MAP;
}

/* What the mount shows as the group wanted is, on disk, and the other way round. */
static gid_t on_disk(const Groups *g, gid_t shown) {
        const gid_t wanted = g->wanted.gid;

        if (g->wanted.swapped_gid == GID_NONE || (shown != wanted && shown != D))
                return shown;
        return shown == wanted ? D : wanted;
}

static bool root_is(const Groups *g, gid_t gid) {
        return on_disk(g, g->seen.root_gid) == gid &&
               (g->wanted.readers ? modes[g->choice[MODE]].readers : modes[g->choice[MODE]].writers);
}

static bool may_be_skipped(const Groups *g) {
        return !g->wanted.force && g->wanted.gate && g->wanted.policy == FS_GROUP_CHANGE_ON_ROOT_MISMATCH;
}

static bool is_known(const Groups *g) {
        return may_be_skipped(g) && g->seen.belief != MARK_ELSEWHERE && g->mark.ownership_state == FILES_COMPLETE &&
               root_is(g, g->mark.gid);
}

static bool group_skip_is_known_to_be_right(const Groups *g) {
        return (g->d.ownership == OWNERSHIP_SKIP && g->d.ownership_reason != OWNERSHIP_ROOT_ONLY) ==
               (is_decided_here(g) && is_known(g) && g->mark.gid == g->wanted.gid &&
                g->wanted.swapped_gid == GID_NONE);
}

static bool root_alone_is_asked_for(const Groups *g) {
        if (g->d.ownership_reason != OWNERSHIP_ROOT_ONLY)
                return true;
        return g->d.ownership == OWNERSHIP_SKIP && may_be_skipped(g) && g->wanted.policy_given &&
               g->mark.found == MARK_UNSUPPORTED && g->mark.ownership_state == FILES_UNKNOWN &&
               root_is(g, on_disk(g, g->wanted.gid));
}

/* One that is shared, and swaps already, is shown to readers whatever the files are. */
static bool map_is_known_to_be_right(const Groups *g) {
        bool swapped = g->wanted.swapped_gid != GID_NONE,
             can_swap = !g->wanted.mounted && !g->wanted.user_namespace && !g->wanted.on_disk;

        if (!is_decided_here(g))
                return g->d.ownership != OWNERSHIP_MAP;
        if (swapped && g->wanted.ownership == OWNERSHIP_MAP)
                return true;
        return (g->d.ownership == OWNERSHIP_MAP) ==
               (is_known(g) && (swapped ? g->mark.gid == D : g->mark.gid != g->wanted.gid && can_swap));
}

static bool reason_fits_the_action(const Groups *g) {
        switch (g->d.ownership_reason) {
        case OWNERSHIP_COMPLETE:
        case OWNERSHIP_TRUSTED:
        case OWNERSHIP_ROOT_ONLY:
                return g->d.ownership == OWNERSHIP_SKIP;
        case OWNERSHIP_OTHER_GROUP:
                return g->d.ownership == OWNERSHIP_MAP;
        default:
                return g->d.ownership != OWNERSHIP_SKIP &&
                       (g->d.ownership != OWNERSHIP_WALK || g->d.ownership_reason >= OWNERSHIP_FORCED);
        }
}

static bool group_is_not_left_undone(const Groups *g) {
        return g->wanted.ownership != OWNERSHIP_WALK ||
               (g->d.ownership != OWNERSHIP_NONE && g->d.ownership != OWNERSHIP_OPTION && g->d.gid == g->wanted.gid);
}

static bool reader_changes_no_file(const Groups *g) {
        return g->wanted.ownership == OWNERSHIP_WALK || g->d.ownership != OWNERSHIP_WALK;
}

static bool others_decision_is_kept(const Groups *g) {
        return is_decided_here(g) ||
               (g->d.ownership == g->wanted.ownership && g->d.ownership_reason == g->wanted.ownership_reason);
}

static bool unknown_group_is_walked(const Groups *g) {
        const Mark unknown = { .found = g->mark.found };
        const FilesSeen seen = { .mark = &unknown,
                                 .belief = g->seen.belief,
                                 .root_gid = g->seen.root_gid,
                                 .root_mode = g->seen.root_mode };
        const FilesDecision d = files_decide(&g->wanted, &seen);

        return g->wanted.ownership != OWNERSHIP_WALK || d.ownership == OWNERSHIP_WALK ||
               d.ownership_reason == OWNERSHIP_ROOT_ONLY;
}

/* A walk gives the files the group that the mount shows as the one wanted; a swap leaves them the one that the mark names. */
static bool group_on_disk_is_that_of_the_files(const Groups *g) {
        switch (g->d.ownership) {
        case OWNERSHIP_WALK:
        case OWNERSHIP_SKIP:
                return g->d.gid == g->wanted.gid && g->d.disk_gid == on_disk(g, g->wanted.gid);
        case OWNERSHIP_MAP:
                return g->d.gid == g->wanted.gid &&
                       g->d.disk_gid == (g->wanted.swapped_gid == GID_NONE ? g->mark.gid : D);
        case OWNERSHIP_OPTION:
                return g->d.gid == g->wanted.gid && g->d.disk_gid == g->wanted.gid;
        default:
                return g->d.gid == GID_NONE && g->d.disk_gid == GID_NONE;
        }
}

static bool group_reason_is_true(const Groups *g) {
        switch (g->d.ownership_reason) {
        case OWNERSHIP_FORCED:
                return g->wanted.force;
        case OWNERSHIP_GATE_DISABLED:
                return !g->wanted.gate;
        case OWNERSHIP_POLICY_ALWAYS:
                return g->wanted.policy == FS_GROUP_CHANGE_ALWAYS;
        case OWNERSHIP_PARTIAL:
                return g->mark.ownership_state == FILES_PARTIAL;
        case OWNERSHIP_UNKNOWN:
                return g->mark.ownership_state == FILES_UNKNOWN;
        case OWNERSHIP_ELSEWHERE:
                return g->seen.belief == MARK_ELSEWHERE;
        case OWNERSHIP_TRUSTED:
                return g->seen.belief == MARK_TRUSTED;
        case OWNERSHIP_COMPLETE:
                return g->seen.belief == MARK_BELIEVED;
        case OWNERSHIP_ROOT_DIFFERS:
                return g->mark.ownership_state == FILES_COMPLETE && !root_is(g, g->mark.gid);
        case OWNERSHIP_REQUESTED:
                return g->wanted.on_disk;
        case OWNERSHIP_USER_NAMESPACE:
                return g->wanted.user_namespace;
        case OWNERSHIP_MOUNTED:
                return g->wanted.mounted || g->wanted.swapped_gid != GID_NONE;
        default:
                return true;
        }
}

static bool labels_and_groups_are_decided_apart(const Groups *g) {
        FilesWanted wanted = g->wanted;
        FilesDecision without;

        wanted.context = NULL;
        without = files_decide(&wanted, &g->seen);
        without.relabel = g->d.relabel;
        without.relabel_reason = g->d.relabel_reason;
        return same_decision(&without, &g->d) &&
               g->d.relabel == (isempty(g->wanted.context) ? RELABEL_NONE : RELABEL_WALK);
}

static bool fall_back_maps_nothing(const Groups *g) {
        FilesDecision d = g->d;

        if (d.ownership != OWNERSHIP_MAP)
                return true;
        files_fall_back(&g->wanted, OWNERSHIP_NO_IDMAP, &d);
        return d.ownership == (g->wanted.ownership == OWNERSHIP_MAP ? OWNERSHIP_NONE : OWNERSHIP_WALK);
}

static bool group_input_decides(const Groups *g) {
        const FilesDecision again = files_decide(&g->wanted, &g->seen);

        return same_decision(&g->d, &again);
}

static const struct {
        const char *sentence;
        bool (*holds)(const Groups *g);
} invariants[] = {
        { "a group is skipped just if the mark and the root say that it is right", group_skip_is_known_to_be_right },
        { "the root alone decides only where no mark can be kept, and if asked for in words",
          root_alone_is_asked_for },
        { "a group is mapped just if the mark and the root say which one is on disk", map_is_known_to_be_right },
        { "a skip, a map and a walk have reasons of their own", reason_fits_the_action },
        { "a group that is wanted is given", group_is_not_left_undone },
        { "where no file may be changed none is", reader_changes_no_file },
        { "what the plan leaves to others is left to them", others_decision_is_kept },
        { "where nothing is known all files are visited", unknown_group_is_walked },
        { "the group on disk is that which files have, or get", group_on_disk_is_that_of_the_files },
        { "the reason for a group is true", group_reason_is_true },
        { "labels and groups are decided apart", labels_and_groups_are_decided_apart },
        { "after a map that can't be nothing is mapped", fall_back_maps_nothing },
        { "the same input gives the same decision", group_input_decides },
};

static bool try_groups(const size_t *choice, void *data) {
        const gid_t *gids_here = gids_of[choice[WISH]];
        Counts *counts = data;
        Groups g = {
                .choice = choice,
                .wanted = { .context = (char *) (flags[choice[LABEL]].is ? CONTEXT_A : NULL),
                            .gid = wishes[choice[WISH]].gid,
                            .readers = flags[choice[READERS]].is,
                            .ownership = actions[choice[ACTION]].action,
                            .ownership_reason = OWNERSHIP_POLICY_NONE,
                            .force = flags[choice[FORCE]].is,
                            .gate = flags[choice[GATE]].is,
                            .policy = policies[choice[POLICY]].policy,
                            .policy_given = policies[choice[POLICY]].given,
                            .user_namespace = flags[choice[USER_NAMESPACE]].is,
                            .on_disk = flags[choice[ON_DISK]].is,
                            .mounted = flags[choice[MOUNTED]].is,
                            .swapped_gid = swaps[choice[SWAP]].gid },
                .mark = { .found = founds[choice[FOUND]].found,
                          .ownership_state = states[choice[STATE]].state,
                          .gid = states[choice[STATE]].state == FILES_UNKNOWN ? 0 : gids_here[choice[GID]] },
        };

        if (!mark_is_possible(&g.mark))
                return false;
        g.seen = (FilesSeen){ .mark = &g.mark,
                              .belief = beliefs[choice[BELIEVED]].belief,
                              .root_gid = gids_here[choice[ROOT_GID]],
                              .root_mode = modes[choice[MODE]].mode };
        g.d = files_decide(&g.wanted, &g.seen);
        for (size_t i = 0; i < G_N_ELEMENTS(invariants); i++)
                if (!invariants[i].holds(&g))
                        fail(dimensions, DIMENSIONS, choice, invariants[i].sentence, &g.d);
        if (g.wanted.ownership == OWNERSHIP_WALK) {
                counts->skips += g.d.ownership == OWNERSHIP_SKIP && g.d.ownership_reason != OWNERSHIP_ROOT_ONLY;
                counts->maps += g.d.ownership == OWNERSHIP_MAP;
        }
        return true;
}

static void test_groups(void) {
        Counts counts = { 0 };

        if (combinations_try(dimensions, DIMENSIONS, try_groups, &counts)) {
                /* Whichever of two groups is wanted, with a label or not; the policy is given or not; 3 modes do for
                 * readers and 1 for writers; the mark was read or is a copy, and is trusted or believed. */
                const size_t sound = 2 * 2 * 2 * 4 * 2 * 2;

                /* Three flags make no difference to a skip, nor to a mount that swaps already; for any other swap
                 * none may be set, and the files have one of two groups. */
                g_assert_cmpuint(counts.skips, ==, sound * 8);
                g_assert_cmpuint(counts.maps, ==, sound * (8 + 2));
        }
        g_assert_cmpuint(counts.skips, >, 0);
        g_assert_cmpuint(counts.maps, >, 0);
}

void add_tests(void) {
        g_test_add_func("/files/exhaustive/labels", test_labels);
        g_test_add_func("/files/exhaustive/groups", test_groups);
}

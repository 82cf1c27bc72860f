/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "combinations.h"
#include "plan/plan-files.h"
#include "support.h"

/* files_decide() is called for every combination of what it decides on. It decides on labels and groups
 * apart, as one of the sentences says, so they are tried apart. */

#define CONTEXT_A  "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_A2 "system_u:object_r:container_file_t:s0:c1,c3"
#define CONTEXT_B  "system_u:object_r:container_file_t:s0:c3,c4"

enum { G = 1000, D = 2000 };

/* Where a dimension has all values of an enum, the index of a word is the value. */
static const char *const founds[] = { [MARK_ABSENT] = "absent",
                                      [MARK_UNSUPPORTED] = "unsupported",
                                      [MARK_INVALID] = "invalid",
                                      [MARK_PRESENT] = "present" };
static const char *const states[] = {
        [FILES_UNKNOWN] = "unknown", [FILES_PARTIAL] = "partial", [FILES_COMPLETE] = "complete"
};
static const char *const beliefs[] = {
        [MARK_STALE] = "no", [MARK_TRUSTED_BY_SETTING] = "trusted", [MARK_TRUSTED] = "yes"
};

static const struct {
        const char *word, *context;
} contexts[] = { { "none", NULL }, { "empty", "" }, { "a", CONTEXT_A }, { "a2", CONTEXT_A2 }, { "b", CONTEXT_B } };

static bool same_decision(const FilesDecision *a, const FilesDecision *b) {
        return a->relabel == b->relabel && a->relabel_reason == b->relabel_reason && a->blind == b->blind &&
               a->ownership == b->ownership && a->ownership_reason == b->ownership_reason && a->gid == b->gid &&
               a->disk_gid == b->disk_gid;
}

typedef struct Case {
        const size_t *choice;
        FilesWanted wanted;
        Mark mark;
        FilesSeen seen;
        FilesDecision d;
} Case;

typedef struct Invariant {
        const char *sentence;
        bool (*holds)(const Case *c);
} Invariant;

/* A file without a mark says nothing. selvold's copy of a mark does not tell whether the file has one: such a
 * copy has the value 0 as found. */
static bool mark_is_possible(const Mark *m) {
        const Mark copy = { 0 };

        if (m->found == MARK_PRESENT || m->found == copy.found)
                return mark_is_consistent(m);
        return m->label_state == FILES_UNKNOWN && m->ownership_state == FILES_UNKNOWN && !m->tainted &&
               mark_is_consistent(m);
}

static void check(const Case *c, const Invariant *invariants, size_t n, const Dimension *dimensions,
                  size_t n_dimensions) {
        const FilesDecision *d = &c->d;

        for (size_t i = 0; i < n; i++) {
                g_autofree char *text = NULL;

                if (invariants[i].holds(c))
                        continue;
                text = g_strdup_printf("labels %s (%s)%s, group %s (%s) %u, on disk %u",
                                       relabel_action_to_string(d->relabel),
                                       relabel_reason_to_string(d->relabel_reason), d->blind ? " blind" : "",
                                       ownership_action_to_string(d->ownership),
                                       ownership_reason_to_string(d->ownership_reason), d->gid, d->disk_gid);
                combination_fail(dimensions, n_dimensions, c->choice, invariants[i].sentence, text);
        }
}

/* --- sentences about both --- */

static bool unknown_is_walked(const Case *c) {
        const Mark unknown = { .found = c->mark.found };
        FilesSeen seen = c->seen;
        FilesDecision d;

        seen.mark = &unknown;
        d = files_decide(&c->wanted, &seen);
        return (isempty(c->wanted.context) || (d.relabel == RELABEL_WALK && !d.blind)) &&
               (c->wanted.ownership != OWNERSHIP_WALK || d.ownership == OWNERSHIP_WALK ||
                d.ownership_reason == OWNERSHIP_ROOT_ONLY);
}

static bool input_decides(const Case *c) {
        const FilesDecision again = files_decide(&c->wanted, &c->seen);

        return same_decision(&c->d, &again);
}

/* --- labels --- */

enum { L_WANTED, L_FORCE, L_FOUND, L_BELIEVED, L_STATE, L_CONTEXT, L_TAINTED, L_ROOT, L_DIMENSIONS };

static const Dimension label_dimensions[L_DIMENSIONS] = {
        [L_WANTED] = DIMENSION("wanted", contexts), [L_FORCE] = DIMENSION("force", flags),
        [L_FOUND] = DIMENSION("found", founds),     [L_BELIEVED] = DIMENSION("believed", beliefs),
        [L_STATE] = DIMENSION("state", states),     [L_CONTEXT] = DIMENSION("of", contexts),
        [L_TAINTED] = DIMENSION("tainted", flags),  [L_ROOT] = DIMENSION("root", contexts),
};

static bool nothing_wanted_nothing_done(const Case *c) {
        return !isempty(c->wanted.context) || (c->d.relabel == RELABEL_NONE && !c->d.blind);
}

/* selvold can rely on the mark, and the root has the label that the mark names. */
static bool label_is_known(const Case *c) {
        return !isempty(c->wanted.context) && !c->wanted.force && c->seen.trust != MARK_STALE &&
               c->mark.label_state == FILES_COMPLETE && !c->mark.tainted &&
               streq(c->mark.context, strempty(c->seen.root_context));
}

static bool label_skip_is_known_to_be_right(const Case *c) {
        return (c->d.relabel == RELABEL_SKIP) ==
               (label_is_known(c) && streq(c->seen.root_context, c->wanted.context));
}

static bool label_is_not_left_undone(const Case *c) {
        return isempty(c->wanted.context) || c->d.relabel == RELABEL_SKIP || c->d.relabel == RELABEL_WALK;
}

static bool blind_is_known_to_be_wrong(const Case *c) {
        return c->d.blind == (label_is_known(c) && !streq(c->seen.root_context, c->wanted.context)) &&
               (!c->d.blind || c->d.relabel == RELABEL_WALK);
}

static bool label_reason_is_true(const Case *c) {
        const Mark *m = &c->mark;
        const bool same_context = streq_ptr(m->context, c->wanted.context);
        const bool is_true[RELABEL_REASONS] = {
                [RELABEL_REASON_FORCED] = c->wanted.force,
                [RELABEL_REASON_UNKNOWN] = m->label_state == FILES_UNKNOWN,
                [RELABEL_REASON_PARTIAL] = m->label_state == FILES_PARTIAL,
                [RELABEL_REASON_TAINTED] = m->tainted,
                [RELABEL_REASON_ELSEWHERE] = c->seen.trust == MARK_STALE,
                [RELABEL_REASON_OTHER_CONTEXT] = !same_context,
                [RELABEL_REASON_TRUSTED] = c->seen.trust == MARK_TRUSTED_BY_SETTING,
                [RELABEL_REASON_COMPLETE] = c->seen.trust == MARK_TRUSTED,
                [RELABEL_REASON_ROOT_DIFFERS] = m->label_state == FILES_COMPLETE && same_context,
        };

        return c->d.relabel == RELABEL_NONE || is_true[c->d.relabel_reason];
}

static bool labels_leave_groups_alone(const Case *c) {
        return c->d.ownership == OWNERSHIP_NONE && c->d.gid == GID_NONE && c->d.disk_gid == GID_NONE;
}

static const Invariant label_invariants[] = {
        { "where no label is wanted none is given", nothing_wanted_nothing_done },
        { "labels are skipped just if the mark and the root say that they are right",
          label_skip_is_known_to_be_right },
        { "labels that are not skipped are given", label_is_not_left_undone },
        { "labels are written without comparing just if the mark and the root say that all are wrong",
          blind_is_known_to_be_wrong },
        { "the reason for labels is true", label_reason_is_true },
        { "where nothing is known all files are visited", unknown_is_walked },
        { "labels leave groups alone", labels_leave_groups_alone },
        { "the same input gives the same decision", input_decides },
};

/* Each of these needs every condition at once, so the number of combinations that have it is known. */
typedef struct Counts {
        size_t skips, blind, maps;
} Counts;

static bool try_labels(const size_t *choice, void *data) {
        Counts *counts = data;
        Case c = {
                .choice = choice,
                .wanted = FILES_WANTED_INIT,
                .mark = { .found = (MarkFound) choice[L_FOUND],
                          .label_state = (FilesState) choice[L_STATE],
                          .context = (char *) contexts[choice[L_CONTEXT]].context,
                          .tainted = flags[choice[L_TAINTED]].is },
        };

        if (!mark_is_possible(&c.mark))
                return false;
        c.wanted.context = (char *) contexts[choice[L_WANTED]].context;
        c.wanted.force = flags[choice[L_FORCE]].is;
        c.seen = (FilesSeen){ .mark = &c.mark,
                              .trust = (MarkTrust) choice[L_BELIEVED],
                              .root_context = contexts[choice[L_ROOT]].context };
        c.d = files_decide(&c.wanted, &c.seen);
        check(&c, label_invariants, G_N_ELEMENTS(label_invariants), label_dimensions, L_DIMENSIONS);
        counts->skips += c.d.relabel == RELABEL_SKIP;
        counts->blind += c.d.blind;
        return true;
}

TEST(test_labels, "/files/exhaustive/labels") {
        Counts counts = { 0 };

        g_assert_true(combinations_try(label_dimensions, L_DIMENSIONS, try_labels, &counts));
        /* The mark was read or is a copy, and is trusted or believed. Each of three contexts differs from
         * two. */
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

/* Beside the group that is wanted there are D, and a further one; root's group is one of the wishes, or the
 * further one. */
static const struct { const char *word; } gids[] = { { "wanted" }, { "d" }, { "other" } };
static const gid_t gids_of[][3] = { { G, D, 0 }, { 0, D, G } };

static const struct {
        const char *word;
        mode_t mode;
        bool writers, readers; /* the mode gives them what they need */
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

static bool is_decided_here(const Case *c) {
        return c->wanted.ownership == OWNERSHIP_WALK || c->wanted.ownership == OWNERSHIP_MAP;
}

/* Returns the group on disk of files that the mount shows with a group: a mount may swap the wanted group
 * with D. */
static gid_t on_disk(const Case *c, gid_t shown) {
        const gid_t wanted = c->wanted.gid;

        if (c->wanted.swapped_gid == GID_NONE || (shown != wanted && shown != D))
                return shown;
        return shown == wanted ? D : wanted;
}

static bool root_is(const Case *c, gid_t gid) {
        return on_disk(c, c->seen.root_gid) == gid &&
               (c->wanted.readers ? modes[c->choice[MODE]].readers : modes[c->choice[MODE]].writers);
}

static bool may_be_skipped(const Case *c) {
        return !c->wanted.force && c->wanted.gate && c->wanted.policy == FS_GROUP_CHANGE_ON_ROOT_MISMATCH;
}

static bool is_known(const Case *c) {
        return may_be_skipped(c) && c->seen.trust != MARK_STALE && c->mark.ownership_state == FILES_COMPLETE &&
               root_is(c, c->mark.gid);
}

static bool group_skip_is_known_to_be_right(const Case *c) {
        return (c->d.ownership == OWNERSHIP_SKIP && c->d.ownership_reason != OWNERSHIP_ROOT_ONLY) ==
               (is_decided_here(c) && is_known(c) && c->mark.gid == c->wanted.gid &&
                c->wanted.swapped_gid == GID_NONE);
}

static bool root_alone_is_asked_for(const Case *c) {
        if (c->d.ownership_reason != OWNERSHIP_ROOT_ONLY)
                return true;
        return c->d.ownership == OWNERSHIP_SKIP && may_be_skipped(c) && c->wanted.policy_given &&
               c->mark.found == MARK_UNSUPPORTED && c->mark.ownership_state == FILES_UNKNOWN &&
               root_is(c, on_disk(c, c->wanted.gid));
}

/* Readers see a shared mount that swaps groups already as it is, whatever the files are. */
static bool map_is_known_to_be_right(const Case *c) {
        bool swapped = c->wanted.swapped_gid != GID_NONE,
             can_swap = !c->wanted.mounted && !c->wanted.user_namespace && !c->wanted.on_disk;

        if (!is_decided_here(c))
                return c->d.ownership != OWNERSHIP_MAP;
        if (swapped && c->wanted.ownership == OWNERSHIP_MAP)
                return true;
        return (c->d.ownership == OWNERSHIP_MAP) ==
               (is_known(c) && (swapped ? c->mark.gid == D : c->mark.gid != c->wanted.gid && can_swap));
}

static bool reason_fits_the_action(const Case *c) {
        switch (c->d.ownership_reason) {
        case OWNERSHIP_COMPLETE:
        case OWNERSHIP_TRUSTED:
        case OWNERSHIP_ROOT_ONLY:
                return c->d.ownership == OWNERSHIP_SKIP;
        case OWNERSHIP_OTHER_GROUP:
                return c->d.ownership == OWNERSHIP_MAP;
        default:
                return c->d.ownership != OWNERSHIP_SKIP &&
                       (c->d.ownership != OWNERSHIP_WALK || c->d.ownership_reason >= OWNERSHIP_FORCED);
        }
}

static bool group_is_not_left_undone(const Case *c) {
        return c->wanted.ownership != OWNERSHIP_WALK ||
               (c->d.ownership != OWNERSHIP_NONE && c->d.ownership != OWNERSHIP_OPTION && c->d.gid == c->wanted.gid);
}

static bool reader_changes_no_file(const Case *c) {
        return c->wanted.ownership == OWNERSHIP_WALK || c->d.ownership != OWNERSHIP_WALK;
}

static bool others_decision_is_kept(const Case *c) {
        return is_decided_here(c) ||
               (c->d.ownership == c->wanted.ownership && c->d.ownership_reason == c->wanted.ownership_reason);
}

/* A walk gives files the group that the mount shows as the wanted one; a swap leaves files the group of the
 * mark. */
static bool group_on_disk_is_that_of_the_files(const Case *c) {
        switch (c->d.ownership) {
        case OWNERSHIP_WALK:
        case OWNERSHIP_SKIP:
                return c->d.gid == c->wanted.gid && c->d.disk_gid == on_disk(c, c->wanted.gid);
        case OWNERSHIP_MAP:
                return c->d.gid == c->wanted.gid &&
                       c->d.disk_gid == (c->wanted.swapped_gid == GID_NONE ? c->mark.gid : D);
        case OWNERSHIP_OPTION:
                return c->d.gid == c->wanted.gid && c->d.disk_gid == c->wanted.gid;
        default:
                return c->d.gid == GID_NONE && c->d.disk_gid == GID_NONE;
        }
}

/* The other reasons are the plan's, or were checked beside the action. */
static bool group_reason_is_true(const Case *c) {
        const bool is_false[OWNERSHIP_REASONS] = {
                [OWNERSHIP_FORCED] = !c->wanted.force,
                [OWNERSHIP_GATE_DISABLED] = c->wanted.gate,
                [OWNERSHIP_POLICY_ALWAYS] = c->wanted.policy != FS_GROUP_CHANGE_ALWAYS,
                [OWNERSHIP_PARTIAL] = c->mark.ownership_state != FILES_PARTIAL,
                [OWNERSHIP_UNKNOWN] = c->mark.ownership_state != FILES_UNKNOWN,
                [OWNERSHIP_ELSEWHERE] = c->seen.trust != MARK_STALE,
                [OWNERSHIP_TRUSTED] = c->seen.trust != MARK_TRUSTED_BY_SETTING,
                [OWNERSHIP_COMPLETE] = c->seen.trust != MARK_TRUSTED,
                [OWNERSHIP_ROOT_DIFFERS] = c->mark.ownership_state != FILES_COMPLETE || root_is(c, c->mark.gid),
                [OWNERSHIP_REQUESTED] = !c->wanted.on_disk,
                [OWNERSHIP_USER_NAMESPACE] = !c->wanted.user_namespace,
                [OWNERSHIP_MOUNTED] = !c->wanted.mounted && c->wanted.swapped_gid == GID_NONE,
        };

        return !is_false[c->d.ownership_reason];
}

static bool labels_and_groups_are_decided_apart(const Case *c) {
        FilesWanted wanted = c->wanted;
        FilesDecision without;

        wanted.context = NULL;
        without = files_decide(&wanted, &c->seen);
        without.relabel = c->d.relabel;
        without.relabel_reason = c->d.relabel_reason;
        return same_decision(&without, &c->d) &&
               c->d.relabel == (isempty(c->wanted.context) ? RELABEL_NONE : RELABEL_WALK);
}

static bool fall_back_maps_nothing(const Case *c) {
        FilesDecision d = c->d;

        if (d.ownership != OWNERSHIP_MAP)
                return true;
        files_fall_back(&c->wanted, OWNERSHIP_NO_IDMAP, &d);
        return d.ownership == (c->wanted.ownership == OWNERSHIP_MAP ? OWNERSHIP_NONE : OWNERSHIP_WALK);
}

static const Invariant invariants[] = {
        { "a group is skipped just if the mark and the root say that it is right", group_skip_is_known_to_be_right },
        { "the root alone decides only where no mark can be kept, and if asked for in words",
          root_alone_is_asked_for },
        { "a group is mapped just if the mark and the root say which one is on disk", map_is_known_to_be_right },
        { "a skip, a map and a walk have reasons of their own", reason_fits_the_action },
        { "a group that is wanted is given", group_is_not_left_undone },
        { "where no file may be changed none is", reader_changes_no_file },
        { "what the plan leaves to others is left to them", others_decision_is_kept },
        { "where nothing is known all files are visited", unknown_is_walked },
        { "the group on disk is that which files have, or get", group_on_disk_is_that_of_the_files },
        { "the reason for a group is true", group_reason_is_true },
        { "labels and groups are decided apart", labels_and_groups_are_decided_apart },
        { "after a map that can't be nothing is mapped", fall_back_maps_nothing },
        { "the same input gives the same decision", input_decides },
};

static bool try_groups(const size_t *choice, void *data) {
        const gid_t *gids_here = gids_of[choice[WISH]];
        Counts *counts = data;
        Case c = {
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
                .mark = { .found = (MarkFound) choice[FOUND],
                          .ownership_state = (FilesState) choice[STATE],
                          .gid = (FilesState) choice[STATE] == FILES_UNKNOWN ? 0 : gids_here[choice[GID]] },
        };

        if (!mark_is_possible(&c.mark))
                return false;
        c.seen = (FilesSeen){ .mark = &c.mark,
                              .trust = (MarkTrust) choice[BELIEVED],
                              .root_gid = gids_here[choice[ROOT_GID]],
                              .root_mode = modes[choice[MODE]].mode };
        c.d = files_decide(&c.wanted, &c.seen);
        check(&c, invariants, G_N_ELEMENTS(invariants), dimensions, DIMENSIONS);
        if (c.wanted.ownership == OWNERSHIP_WALK) {
                counts->skips += c.d.ownership == OWNERSHIP_SKIP && c.d.ownership_reason != OWNERSHIP_ROOT_ONLY;
                counts->maps += c.d.ownership == OWNERSHIP_MAP;
        }
        return true;
}

TEST(test_groups, "/files/exhaustive/groups") {
        Counts counts = { 0 };

        if (combinations_try(dimensions, DIMENSIONS, try_groups, &counts)) {
                /* Two groups can be wanted, with a label or not; the policy is given or not; 3 modes suit
                 * readers and 1 mode suits writers; the mark was read or is a copy, and is trusted or
                 * believed. */
                const size_t sound = 2 * 2 * 2 * 4 * 2 * 2;

                /* Three flags make no difference to a skip, nor to a mount that swaps already. For any other
                 * swap no flag may be set, and the files have one of two groups. */
                g_assert_cmpuint(counts.skips, ==, sound * 8);
                g_assert_cmpuint(counts.maps, ==, sound * (8 + 2));
        }
        g_assert_cmpuint(counts.skips, >, 0);
        g_assert_cmpuint(counts.maps, >, 0);
}

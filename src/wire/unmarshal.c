/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "wire/messages.h"

enum { LINE_MAX_BYTES = 16 * 1024, RELIANCES_MAX = 16 * 1024 };

/* sd-bus returns 0 at the end of a container, where there ought to be something. */
static int expect(int r) {
        return r == 0 ? -EBADMSG : r < 0 ? r : 0;
}

static int enter_struct(sd_bus_message *m, const char *type) {
        return expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, strndupa(type + 1, strlen(type) - 2)));
}

static int exit_container(sd_bus_message *m) {
        int r = sd_bus_message_exit_container(m);

        return r < 0 ? r : 0;
}

static bool context_is_good(const char *context) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;

        return isempty(context) || (context_canonicalize(context, &canonical, &f) == 0 && streq(canonical, context));
}

/* What goes on to users and logs: the worker has escaped it, or it isn't the worker. */
static bool line_is_good(const char *s) {
        return text_is_clean(s) && strlen(s) <= LINE_MAX_BYTES;
}

/* Copies all or none; *ret[i] are overwritten. */
static int copy_strings(const char *const *strings, char **const *ret, size_t n) {
        for (size_t i = 0; i < n; i++) {
                *ret[i] = strdup(strings[i]);
                if (*ret[i])
                        continue;
                while (i-- > 0)
                        *ret[i] = (free(*ret[i]), NULL);
                return -ENOMEM;
        }
        return 0;
}

int node_read(sd_bus_message *m, Node *ret) {
        int selinux, enforcing, mls, r;
        const char *context;
        char *copy = NULL;

        r = expect(sd_bus_message_read(m, NODE_TYPE, &selinux, &enforcing, &mls, &context));
        if (r < 0)
                return r;
        if (!context_is_good(context))
                return -EBADMSG;
        if (!isempty(context)) {
                copy = strdup(context);
                if (!copy)
                        return -ENOMEM;
        }
        *ret = (Node){ .selinux = selinux, .enforcing = enforcing, .mls = mls, .file_context = copy };
        return 0;
}

/* Returns 1 if there was one, 0 at the end of an array. */
static int next_fact(sd_bus_message *m, MountFact *ret) {
        const char *s[6];
        int seclabel, read_only, r;
        MountFact fact = { 0 };
        uint64_t id;

        r = sd_bus_message_read(m, MOUNT_FACT_TYPE, &id, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &seclabel,
                                &read_only);
        if (r <= 0)
                return r;
        if (!context_is_good(s[5]))
                return -EBADMSG;
        r = copy_strings(s,
                         (char **const[]){ &fact.target, &fact.source, &fact.fs_type, &fact.device, &fact.root,
                                           &fact.context },
                         ELEMENTSOF(s));
        if (r < 0)
                return r;
        fact.mount_id = id;
        fact.seclabel = seclabel;
        fact.read_only = read_only;
        *ret = fact;
        return 1;
}

int mount_fact_read(sd_bus_message *m, MountFact *ret) {
        return expect(next_fact(m, ret));
}

int mount_facts_read(sd_bus_message *m, MountFact **ret, size_t *ret_n) {
        _cleanup_(observed_done) Observed list = { 0 }; /* for its cleanup */
        MountFact fact;
        int r;

        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, MOUNT_FACT_TYPE));
        if (r < 0)
                return r;
        while ((r = next_fact(m, &fact)) > 0) {
                MountFact *grown = reallocarray(list.mounts, list.n_mounts + 1, sizeof(MountFact));

                if (!grown) {
                        mount_fact_done(&fact);
                        return -ENOMEM;
                }
                list.mounts = grown;
                list.mounts[list.n_mounts++] = fact;
        }
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(list.mounts);
        *ret_n = list.n_mounts;
        list.n_mounts = 0;
        return 0;
}

int mount_outcome_read(sd_bus_message *m, MountOutcome *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        int read_only, idmapped, r;
        const char *context;

        r = enter_struct(m, MOUNT_OUTCOME_TYPE);
        if (r < 0)
                return r;
        r = mount_fact_read(m, &o.fact);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "suubtb", &context, &o.root_gid, &o.root_mode, &read_only, &o.inodes_used,
                                       &idmapped));
        if (r < 0)
                return r;
        if (!context_is_good(context))
                return -EBADMSG;
        o.superblock_read_only = read_only;
        o.idmapped = idmapped;
        o.root_context = strdup(context);
        if (!o.root_context)
                return -ENOMEM;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

int observed_read(sd_bus_message *m, Observed *ret) {
        _cleanup_(observed_done) Observed o = { 0 };
        const char *fs_type, *device, *superblock;
        int read_only, mounts_unknown, hidden, r;

        r = enter_struct(m, OBSERVED_TYPE);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "sbssbb", &fs_type, &read_only, &device, &superblock, &mounts_unknown,
                                       &hidden));
        if (r < 0)
                return r;
        if (!line_is_good(fs_type) || !line_is_good(device) || !line_is_good(superblock))
                return -EBADMSG;
        r = mount_facts_read(m, &o.mounts, &o.n_mounts);
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        o.device_read_only = read_only;
        o.mounts_unknown = mounts_unknown;
        o.hidden = hidden;
        r = free_and_strdup(&o.fs_type, isempty(fs_type) ? NULL : fs_type);
        if (r < 0)
                return r;
        r = free_and_strdup(&o.device, isempty(device) ? NULL : device);
        if (r < 0)
                return r;
        r = free_and_strdup(&o.superblock, isempty(superblock) ? NULL : superblock);
        if (r < 0)
                return r;
        *ret = o;
        o = (Observed){ 0 };
        return 0;
}

int mark_read(sd_bus_message *m, Mark *ret) {
        const char *found_word, *labels, *context, *ownership;
        int found, label_state, ownership_state, tainted, r;
        uint32_t gid;

        r = expect(sd_bus_message_read(m, MARK_TYPE, &found_word, &labels, &context, &tainted, &ownership, &gid));
        if (r < 0)
                return r;
        found = mark_found_from_string(found_word);
        label_state = files_state_from_string(labels);
        ownership_state = files_state_from_string(ownership);
        if (found < 0 || label_state < 0 || ownership_state < 0 || !context_is_good(context))
                return -EBADMSG;
        if (found != MARK_PRESENT && (label_state != FILES_UNKNOWN || ownership_state != FILES_UNKNOWN || tainted))
                return -EBADMSG;

        Mark mark = {
                .found = (MarkFound) found,
                .label_state = (FilesState) label_state,
                .context = (char *) context,
                .tainted = tainted,
                .ownership_state = (FilesState) ownership_state,
                .gid = gid,
        };
        if (!mark_is_consistent(&mark))
                return -EBADMSG;
        return mark_copy(&mark, ret);
}

int walk_counts_read(sd_bus_message *m, WalkCounts *ret) {
        WalkCounts c;
        int r;

        r = expect(sd_bus_message_read(m, WALK_COUNTS_TYPE, &c.done, &c.changed, &c.mismatched, &c.misowned,
                                       &c.failed, &c.skipped, &c.modified));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

static int walk_issues_read(sd_bus_message *m, WalkResult *w) {
        const char *s[2];
        int r;

        w->issues = calloc(WALK_ISSUES_MAX, sizeof(WalkIssue));
        if (!w->issues)
                return -ENOMEM;
        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(ss)"));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(ss)", &s[0], &s[1])) > 0) {
                WalkIssue *issue = &w->issues[w->n_issues];

                if (w->n_issues >= WALK_ISSUES_MAX || !line_is_good(s[0]) || !line_is_good(s[1]))
                        return -EBADMSG;
                r = copy_strings(s, (char **const[]){ &issue->path, &issue->text }, ELEMENTSOF(s));
                if (r < 0)
                        return r;
                w->n_issues++;
        }
        if (r < 0)
                return r;
        return exit_container(m);
}

int walk_result_read(sd_bus_message *m, WalkResult *ret) {
        _cleanup_(walk_result_done) WalkResult w = { 0 };
        int r;

        r = enter_struct(m, WALK_RESULT_TYPE);
        if (r < 0)
                return r;
        r = walk_counts_read(m, &w.counts);
        if (r < 0)
                return r;
        r = walk_issues_read(m, &w);
        if (r < 0)
                return r;
        r = sd_bus_message_read_strv(m, &w.submounts);
        if (r < 0)
                return r;
        if (strv_length(w.submounts) > WALK_SUBMOUNTS_MAX)
                return -EBADMSG;
        STRV_FOREACH (path, w.submounts)
                if (!line_is_good(*path))
                        return -EBADMSG;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = w;
        w = (WalkResult){ 0 };
        return 0;
}

int mount_identity_read(sd_bus_message *m, MountIdentity *ret) {
        const char *device;
        uint64_t id;
        char *copy;
        int r;

        r = expect(sd_bus_message_read(m, MOUNT_IDENTITY_TYPE, &id, &device));
        if (r < 0)
                return r;
        copy = strdup(device);
        if (!copy)
                return -ENOMEM;
        *ret = (MountIdentity){ .id = id, .device = copy };
        return 0;
}

int mount_call_read(sd_bus_message *m, MountCall *ret) {
        _cleanup_(mount_call_done) MountCall c = { 0 };
        const char *s[4];
        int r;

        r = enter_struct(m, MOUNT_CALL_TYPE);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "ssss", &s[0], &s[1], &s[2], &s[3]));
        if (r < 0)
                return r;
        r = copy_strings(s, (char **const[]){ &c.volume, &c.source, &c.fs_type, &c.target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = mount_identity_read(m, &c.expected);
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = c;
        c = (MountCall){ 0 };
        return 0;
}

int adopt_call_read(sd_bus_message *m, AdoptCall *ret) {
        AdoptCall c = { 0 };
        const char *s[2];
        int r;

        r = expect(sd_bus_message_read(m, ADOPT_CALL_TYPE, &s[0], &s[1]));
        if (r < 0)
                return r;
        r = copy_strings(s, (char **const[]){ &c.volume, &c.target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int change_call_read(sd_bus_message *m, ChangeCall *ret) {
        ChangeCall c = { 0 };
        const char *s[4];
        int r;

        r = expect(sd_bus_message_read(m, CHANGE_CALL_TYPE, &s[0], &s[1], &s[2], &s[3]));
        if (r < 0)
                return r;
        r = copy_strings(s, (char **const[]){ &c.volume, &c.target, &c.source, &c.fs_type }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int verify_call_read(sd_bus_message *m, VerifyCall *ret) {
        VerifyCall c = { 0 };
        const char *s[3], *word;
        int depth, r;

        r = expect(sd_bus_message_read(m, VERIFY_CALL_TYPE, &s[0], &s[1], &word, &c.gid, &c.entries_per_sec, &s[2],
                                       &c.mount_id));
        if (r < 0)
                return r;
        depth = verify_depth_from_string(word);
        if (depth < 0)
                return -EBADMSG;
        c.depth = (VerifyDepth) depth;
        r = copy_strings(s, (char **const[]){ &c.path, &c.expected, &c.mount_target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int verify_result_read(sd_bus_message *m, VerifyResult *ret) {
        _cleanup_(verify_result_done) VerifyResult v = { 0 };
        const char *actual, *reset, *s[1];
        int matches, change, r;

        r = enter_struct(m, VERIFY_RESULT_TYPE);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "bs", &matches, &actual));
        if (r < 0)
                return r;
        if (!context_is_good(actual))
                return -EBADMSG;
        v.matches = matches;
        v.actual = strdup(actual);
        if (!v.actual)
                return -ENOMEM;
        r = walk_result_read(m, &v.walk);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "ss", &reset, &s[0]));
        if (r < 0)
                return r;
        change = mark_change_from_string(reset);
        if (change < 0 || !line_is_good(s[0]))
                return -EBADMSG;
        v.reset = (MarkChange) change;
        r = copy_strings(s, (char **const[]){ &v.not_reset }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = v;
        v = (VerifyResult){ 0 };
        return 0;
}

int unmount_call_read(sd_bus_message *m, UnmountCall *ret) {
        UnmountCall c = { 0 };
        const char *s[2];
        int r;

        r = expect(sd_bus_message_read(m, UNMOUNT_CALL_TYPE, &s[0], &c.identity.id, &s[1]));
        if (r < 0)
                return r;
        r = copy_strings(s, (char **const[]){ &c.target, &c.identity.device }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int plan_question_read(sd_bus_message *m, PlanQuestion *ret) {
        _cleanup_(plan_question_done) PlanQuestion q = { 0 };
        int mounted, r;

        r = enter_struct(m, PLAN_QUESTION_TYPE);
        if (r < 0)
                return r;
        r = node_read(m, &q.node);
        if (r < 0)
                return r;
        r = observed_read(m, &q.observed);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "ib", &q.seclabel, &mounted));
        if (r < 0)
                return r;
        if (q.seclabel < -1 || q.seclabel > 1)
                return -EBADMSG;
        q.mounted = mounted;
        r = mount_outcome_read(m, &q.outcome);
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = q;
        q = (PlanQuestion){ 0 };
        return 0;
}

static int files_wanted_read(sd_bus_message *m, FilesWanted *ret) {
        int readers, force, gate, policy_given, user_namespace, on_disk, mounted, action, reason, policy, r;
        const char *context, *action_word, *reason_word, *policy_word;
        FilesWanted w;

        r = expect(sd_bus_message_read(m, FILES_WANTED_TYPE, &context, &w.gid, &readers, &action_word, &reason_word,
                                       &force, &gate, &policy_word, &policy_given, &user_namespace, &on_disk,
                                       &mounted, &w.swapped_gid));
        if (r < 0)
                return r;
        action = ownership_action_from_string(action_word);
        reason = ownership_reason_from_string(reason_word);
        policy = fs_group_change_policy_from_string(policy_word);
        if (action < 0 || reason < 0 || policy < 0 || !context_is_good(context))
                return -EBADMSG;

        w.readers = readers;
        w.ownership = (OwnershipAction) action;
        w.ownership_reason = (OwnershipReason) reason;
        w.force = force;
        w.gate = gate;
        w.policy = (FSGroupChangePolicy) policy;
        w.policy_given = policy_given;
        w.user_namespace = user_namespace;
        w.on_disk = on_disk;
        w.mounted = mounted;
        w.context = strdup(context);
        if (!w.context)
                return -ENOMEM;
        *ret = w;
        return 0;
}

static int next_reliance(sd_bus_message *m, Reliance *ret) {
        const char *root, *who;
        Reliance one = { 0 };
        int r;

        r = sd_bus_message_read(m, "(uss)", &one.gid, &root, &who);
        if (r <= 0)
                return r;
        if (!line_is_good(who))
                return -EBADMSG;
        one.root = isempty(root) ? NULL : strdup(root);
        one.who = strdup(who);
        if (!one.who || (!isempty(root) && !one.root)) {
                free(one.root);
                free(one.who);
                return -ENOMEM;
        }
        *ret = one;
        return 1;
}

static int reliances_read(sd_bus_message *m, PlanAnswer *a) {
        Reliance one;
        int r;

        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(uss)"));
        if (r < 0)
                return r;
        while ((r = next_reliance(m, &one)) > 0) {
                Reliance *grown = a->n_reliances < RELIANCES_MAX
                                          ? reallocarray(a->reliances, a->n_reliances + 1, sizeof(Reliance))
                                          : NULL;

                if (!grown) {
                        free(one.root);
                        free(one.who);
                        return a->n_reliances < RELIANCES_MAX ? -ENOMEM : -EBADMSG;
                }
                a->reliances = grown;
                a->reliances[a->n_reliances++] = one;
        }
        if (r < 0)
                return r;
        return exit_container(m);
}

int plan_answer_read(sd_bus_message *m, PlanAnswer *ret) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        const char *verdict_word, *change_word, *s[2];
        int verdict, change, read_only, r;

        r = enter_struct(m, PLAN_ANSWER_TYPE);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "sis", &verdict_word, &a.seclabel, &s[0]));
        if (r < 0)
                return r;
        r = sd_bus_message_read_strv(m, &a.mount_options);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "bsts", &read_only, &s[1], &a.share_id, &change_word));
        if (r < 0)
                return r;
        verdict = plan_verdict_from_string(verdict_word);
        change = mark_change_from_string(change_word);
        if (verdict < 0 || change < 0 || a.seclabel < -1 || a.seclabel > 1 || !context_is_good(s[0]))
                return -EBADMSG;
        a.verdict = (PlanVerdict) verdict;
        a.read_only = read_only;
        a.change = (MarkChange) change;
        r = copy_strings(s, (char **const[]){ &a.context, &a.share_target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = files_wanted_read(m, &a.files);
        if (r < 0)
                return r;
        r = reliances_read(m, &a);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "t", &a.entries_per_sec));
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = a;
        a = PLAN_ANSWER_INIT;
        return 0;
}

int ready_note_read(sd_bus_message *m, ReadyNote *ret) {
        ReadyNote n = { 0 };
        const char *device;
        int r;

        r = expect(sd_bus_message_read(m, READY_NOTE_TYPE, &n.identity.id, &device, &n.gid, &n.disk_gid));
        if (r < 0)
                return r;
        n.identity.device = strdup(device);
        if (!n.identity.device)
                return -ENOMEM;
        *ret = n;
        return 0;
}

int files_decision_read(sd_bus_message *m, FilesDecision *ret) {
        const char *relabel_word, *relabel_reason_word, *action_word, *reason_word;
        int relabel, relabel_reason, blind, action, reason, r;
        uint32_t gid, disk_gid;

        r = expect(sd_bus_message_read(m, FILES_DECISION_TYPE, &relabel_word, &relabel_reason_word, &blind,
                                       &action_word, &reason_word, &gid, &disk_gid));
        if (r < 0)
                return r;
        relabel = relabel_action_from_string(relabel_word);
        relabel_reason = relabel_reason_from_string(relabel_reason_word);
        action = ownership_action_from_string(action_word);
        reason = ownership_reason_from_string(reason_word);
        if (relabel < 0 || relabel_reason < 0 || action < 0 || reason < 0 ||
            (gid == GID_NONE) != (disk_gid == GID_NONE))
                return -EBADMSG;
        *ret = (FilesDecision){
                .relabel = (RelabelAction) relabel,
                .relabel_reason = (RelabelReason) relabel_reason,
                .blind = blind,
                .ownership = (OwnershipAction) action,
                .ownership_reason = (OwnershipReason) reason,
                .gid = gid,
                .disk_gid = disk_gid,
        };
        return 0;
}

int operation_result_read(sd_bus_message *m, OperationResult *ret) {
        _cleanup_(operation_result_done) OperationResult o = { 0 };
        int repeated, walked, r;
        const char *s[1];

        r = enter_struct(m, OPERATION_RESULT_TYPE);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "b", &repeated));
        if (r < 0)
                return r;
        r = mount_outcome_read(m, &o.outcome);
        if (r < 0)
                return r;
        r = mark_read(m, &o.mark);
        if (r < 0)
                return r;
        r = files_decision_read(m, &o.files);
        if (r < 0)
                return r;
        r = expect(sd_bus_message_read(m, "sb", &s[0], &walked));
        if (r < 0)
                return r;
        if (!line_is_good(s[0]))
                return -EBADMSG;
        o.repeated = repeated;
        o.walked = walked;
        r = copy_strings(s, (char **const[]){ &o.detail }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = walk_result_read(m, &o.walk);
        if (r < 0)
                return r;
        r = exit_container(m);
        if (r < 0)
                return r;

        *ret = o;
        o = (OperationResult){ 0 };
        return 0;
}

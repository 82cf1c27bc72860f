/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "wire/unmarshal.h"

enum { LINE_MAX_BYTES = 16 * 1024 };

int unmarshal_expect(int r) {
        return r == 0 ? -EBADMSG : r < 0 ? r : 0;
}

int unmarshal_enter_struct(sd_bus_message *m, const char *type) {
        return unmarshal_expect(
                sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, strndupa(type + 1, strlen(type) - 2)));
}

int unmarshal_exit_container(sd_bus_message *m) {
        int r = sd_bus_message_exit_container(m);

        return r < 0 ? r : 0;
}

bool unmarshal_context_is_good(const char *context) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;

        return isempty(context) || (context_canonicalize(context, &canonical, &f) == 0 && streq(canonical, context));
}

bool unmarshal_line_is_good(const char *s) {
        return text_is_clean(s) && strlen(s) <= LINE_MAX_BYTES;
}

int unmarshal_copy_strings(const char *const *strings, char **const *ret, size_t n) {
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

int unmarshal_strv(sd_bus_message *m, size_t max, char ***ret) {
        _cleanup_strv_ char **l = NULL;
        const char *s;
        size_t n = 0;
        int r;

        r = unmarshal_expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s"));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "s", &s)) > 0) {
                if (++n > max)
                        return -E2BIG;
                r = strv_extend(&l, s);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(l);
        return 0;
}

void *unmarshal_grow(void *list, size_t n, size_t element_size) {
        bool full = (n & (n - 1)) == 0; /* 0, or a power of two */

        return full ? reallocarray(list, n == 0 ? 1 : 2 * n, element_size) : list;
}

int node_read(sd_bus_message *m, Node *ret) {
        int selinux, enforcing, mls, r;
        const char *context;
        char *copy = NULL;

        r = unmarshal_expect(sd_bus_message_read(m, NODE_TYPE, &selinux, &enforcing, &mls, &context));
        if (r < 0)
                return r;
        if (!unmarshal_context_is_good(context))
                return -EBADMSG;
        if (!isempty(context)) {
                copy = strdup(context);
                if (!copy)
                        return -ENOMEM;
        }
        *ret = (Node){ .selinux = selinux, .enforcing = enforcing, .mls = mls, .file_context = copy };
        return 0;
}

static bool volume_is_good(const char *id) {
        _cleanup_failure_ Failure ignored = { 0 };

        return isempty(id) || volume_id_validate(id, &ignored) == 0;
}

/* Returns 1 if there was one, 0 at the end of an array. */
static int next_fact(sd_bus_message *m, MountFact *ret) {
        const char *s[9];
        int seclabel, read_only, r;
        MountFact fact = { 0 };
        uint64_t id;

        r = sd_bus_message_read(m, MOUNT_FACT_TYPE, &id, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &s[7],
                                &s[8], &seclabel, &read_only);
        if (r <= 0)
                return r;
        if (!unmarshal_context_is_good(s[5]) || !unmarshal_line_is_good(s[6]) || !unmarshal_line_is_good(s[7]) ||
            !volume_is_good(s[8]))
                return -EBADMSG;
        r = unmarshal_copy_strings(s,
                                   (char **const[]){ &fact.target, &fact.source, &fact.fs_type, &fact.device,
                                                     &fact.root, &fact.context, &fact.covered_by, &fact.also_at,
                                                     &fact.volume },
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
        return unmarshal_expect(next_fact(m, ret));
}

int mount_facts_read(sd_bus_message *m, MountFact **ret, size_t *ret_n) {
        _cleanup_(observed_done) Observed list = { 0 }; /* for its cleanup */
        MountFact fact;
        int r;

        r = unmarshal_expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, MOUNT_FACT_TYPE));
        if (r < 0)
                return r;
        while ((r = next_fact(m, &fact)) > 0) {
                MountFact *grown = unmarshal_grow(list.mounts, list.n_mounts, sizeof(MountFact));

                if (!grown) {
                        mount_fact_done(&fact);
                        return -ENOMEM;
                }
                list.mounts = grown;
                list.mounts[list.n_mounts++] = fact;
        }
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
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

        r = unmarshal_enter_struct(m, MOUNT_OUTCOME_TYPE);
        if (r < 0)
                return r;
        r = mount_fact_read(m, &o.fact);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "suubtb", &context, &o.root_gid, &o.root_mode, &read_only,
                                                 &o.inodes_used, &idmapped));
        if (r < 0)
                return r;
        if (!unmarshal_context_is_good(context))
                return -EBADMSG;
        o.superblock_read_only = read_only;
        o.idmapped = idmapped;
        o.root_context = strdup(context);
        if (!o.root_context)
                return -ENOMEM;
        r = unmarshal_exit_container(m);
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

        r = unmarshal_enter_struct(m, OBSERVED_TYPE);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "sbssbb", &fs_type, &read_only, &device, &superblock,
                                                 &mounts_unknown, &hidden));
        if (r < 0)
                return r;
        if (!unmarshal_line_is_good(fs_type) || !unmarshal_line_is_good(device) ||
            !unmarshal_line_is_good(superblock))
                return -EBADMSG;
        r = mount_facts_read(m, &o.mounts, &o.n_mounts);
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
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

        r = unmarshal_expect(
                sd_bus_message_read(m, MARK_TYPE, &found_word, &labels, &context, &tainted, &ownership, &gid));
        if (r < 0)
                return r;
        found = mark_found_from_string(found_word);
        label_state = files_state_from_string(labels);
        ownership_state = files_state_from_string(ownership);
        if (found < 0 || label_state < 0 || ownership_state < 0 || !unmarshal_context_is_good(context))
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

        r = unmarshal_expect(sd_bus_message_read(m, WALK_COUNTS_TYPE, &c.done, &c.changed, &c.mismatched, &c.misowned,
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
        r = unmarshal_expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(ss)"));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(ss)", &s[0], &s[1])) > 0) {
                WalkIssue *issue = &w->issues[w->n_issues];

                if (w->n_issues >= WALK_ISSUES_MAX || !unmarshal_line_is_good(s[0]) || !unmarshal_line_is_good(s[1]))
                        return -EBADMSG;
                r = unmarshal_copy_strings(s, (char **const[]){ &issue->path, &issue->text }, ELEMENTSOF(s));
                if (r < 0)
                        return r;
                w->n_issues++;
        }
        if (r < 0)
                return r;
        return unmarshal_exit_container(m);
}

int walk_result_read(sd_bus_message *m, WalkResult *ret) {
        _cleanup_(walk_result_done) WalkResult w = { 0 };
        int r;

        r = unmarshal_enter_struct(m, WALK_RESULT_TYPE);
        if (r < 0)
                return r;
        r = walk_counts_read(m, &w.counts);
        if (r < 0)
                return r;
        r = walk_issues_read(m, &w);
        if (r < 0)
                return r;
        r = unmarshal_strv(m, WALK_SUBMOUNTS_MAX, &w.submounts);
        if (r < 0)
                return r == -E2BIG ? -EBADMSG : r;
        STRV_FOREACH (path, w.submounts)
                if (!unmarshal_line_is_good(*path))
                        return -EBADMSG;
        r = unmarshal_exit_container(m);
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

        r = unmarshal_expect(sd_bus_message_read(m, MOUNT_IDENTITY_TYPE, &id, &device));
        if (r < 0)
                return r;
        copy = strdup(device);
        if (!copy)
                return -ENOMEM;
        *ret = (MountIdentity){ .id = id, .device = copy };
        return 0;
}

int orphan_note_read(sd_bus_message *m, OrphanNote *ret) {
        OrphanNote o;
        uint32_t pid;
        int r;

        r = sd_bus_message_read(m, ORPHAN_NOTE_TYPE, &pid, &o.operation, &o.volume, &o.target);
        if (r <= 0)
                return r;
        if (pid == 0 || pid > INT32_MAX || isempty(o.operation) || !unmarshal_line_is_good(o.operation) ||
            !unmarshal_line_is_good(o.volume) || !unmarshal_line_is_good(o.target))
                return -EBADMSG;
        o.pid = (pid_t) pid;
        *ret = o;
        return 1;
}

int verify_result_read(sd_bus_message *m, VerifyResult *ret) {
        _cleanup_(verify_result_done) VerifyResult v = { 0 };
        const char *actual, *reset, *s[1];
        int matches, change, r;

        r = unmarshal_enter_struct(m, VERIFY_RESULT_TYPE);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "bs", &matches, &actual));
        if (r < 0)
                return r;
        if (!unmarshal_context_is_good(actual))
                return -EBADMSG;
        v.matches = matches;
        v.actual = strdup(actual);
        if (!v.actual)
                return -ENOMEM;
        r = walk_result_read(m, &v.walk);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "ss", &reset, &s[0]));
        if (r < 0)
                return r;
        change = mark_change_from_string(reset);
        if (change < 0 || !unmarshal_line_is_good(s[0]))
                return -EBADMSG;
        v.reset = (MarkChange) change;
        r = unmarshal_copy_strings(s, (char **const[]){ &v.not_reset }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;

        *ret = v;
        v = (VerifyResult){ 0 };
        return 0;
}

int plan_question_read(sd_bus_message *m, PlanQuestion *ret) {
        _cleanup_(plan_question_done) PlanQuestion q = { 0 };
        int mounted, r;

        r = unmarshal_enter_struct(m, PLAN_QUESTION_TYPE);
        if (r < 0)
                return r;
        r = node_read(m, &q.node);
        if (r < 0)
                return r;
        r = observed_read(m, &q.observed);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "ib", &q.seclabel, &mounted));
        if (r < 0)
                return r;
        if (q.seclabel < -1 || q.seclabel > 1)
                return -EBADMSG;
        q.mounted = mounted;
        r = mount_outcome_read(m, &q.outcome);
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;

        *ret = q;
        q = (PlanQuestion){ 0 };
        return 0;
}

int ready_note_read(sd_bus_message *m, ReadyNote *ret) {
        ReadyNote n = { 0 };
        const char *device, *fingerprint;
        int r;

        r = unmarshal_expect(
                sd_bus_message_read(m, READY_NOTE_TYPE, &n.identity.id, &device, &n.gid, &n.disk_gid, &fingerprint));
        if (r < 0)
                return r;
        r = fingerprint_from_string(fingerprint, &n.fingerprint);
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

        r = unmarshal_expect(sd_bus_message_read(m, FILES_DECISION_TYPE, &relabel_word, &relabel_reason_word, &blind,
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
        const char *fingerprint, *s[1];
        int repeated, walked, r;

        r = unmarshal_enter_struct(m, OPERATION_RESULT_TYPE);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "b", &repeated));
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
        r = unmarshal_expect(sd_bus_message_read(m, "sbs", &s[0], &walked, &fingerprint));
        if (r < 0)
                return r;
        r = fingerprint_from_string(fingerprint, &o.fingerprint);
        if (r < 0)
                return r;
        if (!unmarshal_line_is_good(s[0]))
                return -EBADMSG;
        o.repeated = repeated;
        o.walked = walked;
        r = unmarshal_copy_strings(s, (char **const[]){ &o.detail }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = walk_result_read(m, &o.walk);
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;

        *ret = o;
        o = (OperationResult){ 0 };
        return 0;
}

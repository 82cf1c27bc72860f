/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/protocol.h"
#include "label/record-xattr.h"
#include "label/selinux.h"
#include "worker/check.h"
#include "worker/marshal.h"
#include "worker/subject.h"
#include "worker/verbs.h"
#include "worker/walk.h"

typedef struct ChangeCall {
        const char *target; /* belongs to the message */
        uint64_t mount_id;
        char *context;       /* checked; NULL: labels are left alone */
        Ownership ownership; /* as the mount shows it; GID_NONE: groups are left alone */
        gid_t disk_gid;
        int blind; /* boolean */
        uint64_t generation;
        uint64_t entries_per_sec;
        RecordEffect effect;
} ChangeCall;

static void change_call_done(ChangeCall *c) {
        free(c->context);
}

typedef struct Changed {
        TreeResult tree;
        char **mounts_inside;
        RecordFound found;
        char *record;
} Changed;

static void changed_done(Changed *r) {
        tree_result_done(&r->tree);
        strv_free(r->mounts_inside);
        free(r->record);
}

static int fail_hidden(Failure *f, const MountFact *fact) {
        _cleanup_free_ char *context = string_escape(fact->context, CONTEXT_MAX);

        if (!context)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is mounted with context %s, which hides the labels of its files: they can be changed only when it is mounted without.",
                context);
}

static int check_labels(const Subject *s, Failure *f) {
        _cleanup_(node_done) Node node = { 0 };
        const MountFact *fact = &s->outcome.fact;
        int r;

        r = subject_check_overridden(s->outcome.overrides_labels, f);
        if (r == 0)
                r = selinux_read_node(&node);
        if (r != 0)
                return r;
        if (!isempty(fact->context))
                return fail_hidden(f, fact);
        if (node.selinux && !fact->seclabel)
                return selinux_fail_unlabelled(f);
        return selinux_require_labels(s->root, f);
}

/* What selvold says of it would go into the volume's record. */
static int check_group(const ChangeCall *c, const Subject *s, Failure *f) {
        if ((c->ownership.gid != c->disk_gid) == s->outcome.idmapped)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                s->outcome.idmapped
                        ? "The mount is idmapped, so it is not known which group files would have on disk: unmount it first."
                        : "The mount is not idmapped, so files have the group that they show.");
}

/* Before anything is touched; and the host's own files stay as they are, whatever they have been mounted as, and
 * whatever selvold says that they are. */
static int check_subject(const Child *child, const ChangeCall *c, const Subject *s, Failure *f) {
        int r;

        r = subject_check(child, s, f);
        if (r == 0)
                r = subject_check_elsewhere(child, s, f);
        if (r == 0 && c->context)
                r = check_labels(s, f);
        if (r == 0 && c->ownership.gid != GID_NONE)
                r = check_group(c, s, f);
        if (r == 0 && s->outcome.fact.read_only)
                r = failure_set(f, FAILURE_NOT_SUPPORTED,
                                "The volume is mounted read-only, so its files can't be changed.");
        return r;
}

/* What the file system counts is good enough for a volume that is all of it. */
static int find_total(Child *child, const Subject *s, const FilesSpec *spec, uint64_t *ret, Failure *f) {
        if (s->outcome.inodes_used == 0 || s->part)
                return walk_count(child, spec, ret, f);
        *ret = s->outcome.inodes_used;
        return 0;
}

static int walk(Child *child, const ChangeCall *c, const Subject *s, TreeResult *ret, Failure *f) {
        const RecordWork work = {
                .context = c->context,
                .gid = c->ownership.gid != GID_NONE ? c->disk_gid : GID_NONE,
                .read_only = c->ownership.read_only,
        };
        _cleanup_(record_begun_done) RecordBegun begun = { 0 };
        FilesSpec spec = {
                .mode = FILES_CHANGE,
                .tree.fd = s->root,
                .context = c->context,
                .ownership = c->ownership.gid != GID_NONE ? &c->ownership : NULL,
                .blind = c->blind,
                .contended = s->contended,
                .tree.part = s->part,
                .tree.entries_per_sec = c->entries_per_sec,
        };
        uint64_t total;
        int r;

        r = find_total(child, s, &spec, &total, f);
        if (r == 0)
                r = walk_tell_start(child, total, f);
        if (r == 0)
                r = record_xattr_begin(s->root, &work, c->generation, &begun, f);
        if (r == 0)
                r = walk_files(child, &spec, total, ret, f);
        /* What was skipped is as it was, and is the volume's alone once its other name is gone; and what
         * moved to the last may not have been seen. */
        if (r == 0 && ret->counts.failed == 0 && ret->counts.skipped == 0 && ret->counts.modified == 0)
                r = record_xattr_finish(s->root, &begun, &work, c->effect, f);
        return r;
}

static int check_call(const Child *child, ChangeCall *c, const char *context, Failure *f) {
        if ((c->ownership.gid == GID_NONE) != (c->disk_gid == GID_NONE))
                return failure_set(f, FAILURE_INVALID_OPTION, "The call names one group, and no other.");
        if (isempty(context))
                return c->ownership.gid != GID_NONE
                               ? 0
                               : failure_set(f, FAILURE_INVALID_OPTION, "The call asks for nothing to be changed.");
        return check_context(child->settings, context, &c->context, f);
}

static int change(Child *child, ChangeCall *c, const char *context, Changed *ret, Failure *f) {
        _cleanup_(subject_done) Subject subject = SUBJECT_INIT;
        int r;

        r = check_call(child, c, context, f);
        if (r == 0)
                r = subject_open(child, c->target, c->mount_id, CLONE_AS_IT_IS, &subject, f);
        if (r == 0)
                r = check_subject(child, c, &subject, f);
        if (r == 0)
                r = walk(child, c, &subject, &ret->tree, f);
        if (r == 0)
                r = record_xattr_read(subject.root, &ret->found, &ret->record);
        if (r == 0)
                ret->mounts_inside = TAKE_PTR(subject.mounts_inside);
        return r;
}

static char *describe(const ChangeCall *c) {
        _cleanup_free_ char *group = NULL;

        if (c->ownership.gid == GID_NONE)
                return strdup_printf("relabelled with %s", c->context);
        group = strdup_printf("given to group %" PRIu32 "%s", c->disk_gid,
                              c->ownership.read_only ? " for reading" : "");
        if (!group || !c->context)
                return TAKE_PTR(group);
        return strdup_printf("%s and relabelled with %s", group, c->context);
}

static void log_changed(const ChangeCall *c, const TreeCounts *n, uint64_t usec) {
        _cleanup_free_ char *target = string_escape(c->target, 200),
                            *duration = strdup_printf("%llu", (unsigned long long) usec),
                            *entries = strdup_printf("%llu", (unsigned long long) n->done), *what = describe(c);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", c->context },
                { "SELVOL_DURATION_USEC", duration },
                { "SELVOL_ENTRIES", entries },
        };

        log_fields(n->failed > 0 ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields),
                   "%s: %s: %s entries, %llu changed, %llu skipped, %llu failed.",
                   isempty(target) ? "what is staged" : target, strempty(what), strempty(entries),
                   (unsigned long long) n->changed, (unsigned long long) n->skipped, (unsigned long long) n->failed);
}

static int reply(sd_bus_message *m, const Changed *done) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_tree(answer, &done->tree);
        if (r >= 0)
                r = marshal_paths(answer, done->mounts_inside);
        if (r >= 0)
                r = marshal_record(answer, done->found, done->record);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int verb_change(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(change_call_done) ChangeCall c = { 0 };
        _cleanup_(changed_done) Changed done = { 0 };
        uint64_t start = now_monotonic_usec();
        const char *context, *effect;
        int read_only, r;

        r = sd_bus_message_read(m, WORKER_CHANGE_IN, &c.target, &c.mount_id, &context, &c.ownership.gid, &c.disk_gid,
                                &read_only, &c.blind, &c.generation, &c.entries_per_sec, &effect);
        if (r >= 0)
                r = unmarshal_effect(effect, &c.effect);
        if (r < 0)
                return r;
        c.ownership.read_only = read_only;

        r = change(child, &c, context, &done, &f);
        if (r == 0) {
                log_changed(&c, &done.tree.counts, now_monotonic_usec() - start);
                r = reply(m, &done);
        }
        return child_finish(WORKER_CHANGE, c.target, r, &f, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "core/worker-protocol.h"
#include "label/record-xattr.h"
#include "label/selinux.h"
#include "worker/check.h"
#include "worker/marshal.h"
#include "worker/subject.h"
#include "worker/verbs.h"
#include "worker/walk.h"

typedef struct RelabelCall {
        const char *target; /* belongs to the message */
        uint64_t mount_id;
        char *context; /* checked */
        int blind;     /* boolean */
        uint64_t generation;
        WalkLimits limits;
        RecordEffect effect;
} RelabelCall;

static void relabel_call_done(RelabelCall *c) {
        free(c->context);
}

typedef struct Relabelled {
        TreeResult tree;
        char **mounts_inside;
        RecordFound found;
        char *record;
} Relabelled;

static void relabelled_done(Relabelled *r) {
        tree_result_done(&r->tree);
        strv_free(r->mounts_inside);
        free(r->record);
}

static int fail_hidden(Failure *f, const MountFact *fact) {
        _cleanup_free_ char *context = string_escape(fact->context, CONTEXT_MAX);

        if (!context)
                return -ENOMEM;
        return failure_set(f, FAILURE_NOT_SUPPORTED,
                           "The volume is mounted with context %s, which hides the labels of its files: they can be "
                           "changed only when it is mounted without.",
                           context);
}

/* Before anything is touched; and the host's own files stay as they are, whatever they have been mounted as, and
 * whatever selvold says that they are. */
static int check_subject(const Child *child, const Subject *s, Failure *f) {
        _cleanup_(node_done) Node node = { 0 };
        const MountFact *fact = &s->outcome.fact;
        int r;

        r = subject_check(child, s, f);
        if (r == 0)
                r = subject_check_elsewhere(child, s, f);
        if (r == 0)
                r = subject_check_overridden(s->outcome.overrides_labels, f);
        if (r != 0)
                return r;
        r = selinux_read_node(&node);
        if (r < 0)
                return r;
        if (!isempty(fact->context))
                return fail_hidden(f, fact);
        if (node.selinux && !fact->seclabel)
                return selinux_fail_unlabelled(f);
        r = selinux_require_labels(s->root, f);
        if (r != 0)
                return r;
        if (fact->read_only)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "The volume is mounted read-only, so its files can't be relabelled.");
        return 0;
}

/* What the file system counts is good enough for a volume that is all of it. */
static int find_total(Child *child, const Subject *s, const TreeSpec *spec, const WalkLimits *limits, uint64_t *ret,
                      Failure *f) {
        if (s->outcome.inodes_used == 0 || s->part)
                return walk_count(child, spec, limits, ret, f);
        *ret = s->outcome.inodes_used;
        return 0;
}

static int walk(Child *child, const RelabelCall *c, const Subject *s, TreeResult *ret, Failure *f) {
        _cleanup_(record_begun_done) RecordBegun begun = { 0 };
        TreeSpec spec = {
                .mode = TREE_CHANGE,
                .fd = s->root,
                .context = c->context,
                .blind = c->blind,
                .part = s->part,
        };
        uint64_t total;
        int r;

        r = find_total(child, s, &spec, &c->limits, &total, f);
        if (r == 0)
                r = walk_tell_start(child, total, f);
        if (r == 0)
                r = record_xattr_begin(s->root, c->context, c->generation, &begun, f);
        if (r == 0)
                r = walk_tree(child, &spec, &c->limits, total, ret, f);
        /* What was skipped has whatever label it has, and is the volume's alone once its other name is gone; and what
         * moved to the last may not have been seen. */
        if (r == 0 && ret->counts.failed == 0 && ret->counts.skipped == 0 && ret->counts.unsettled == 0)
                r = record_xattr_finish(s->root, &begun, c->effect, f);
        return r;
}

static int relabel(Child *child, RelabelCall *c, const char *context, Relabelled *ret, Failure *f) {
        _cleanup_(subject_done) Subject subject = SUBJECT_INIT;
        int r;

        r = check_context(child->settings, context, &c->context, f);
        if (r == 0)
                r = subject_open(child, c->target, c->mount_id, CLONE_AS_IT_IS, &subject, f);
        if (r == 0)
                r = check_subject(child, &subject, f);
        if (r == 0)
                r = walk(child, c, &subject, &ret->tree, f);
        if (r == 0)
                r = record_xattr_read(subject.root, &ret->found, &ret->record);
        if (r == 0)
                ret->mounts_inside = TAKE_PTR(subject.mounts_inside);
        return r;
}

static void log_relabelled(const RelabelCall *c, const TreeCounts *n, uint64_t usec) {
        _cleanup_free_ char *target = string_escape(c->target, 200),
                            *duration = strdup_printf("%llu", (unsigned long long) usec),
                            *entries = strdup_printf("%llu", (unsigned long long) n->done);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", c->context },
                { "SELVOL_DURATION_USEC", duration },
                { "SELVOL_ENTRIES", entries },
        };

        log_fields(n->failed > 0 ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields),
                   "Relabelled %s with %s: %s entries, %llu changed, %llu skipped, %llu failed.",
                   isempty(target) ? "what is staged" : target, c->context, strempty(entries),
                   (unsigned long long) n->changed, (unsigned long long) n->skipped, (unsigned long long) n->failed);
}

static int reply(sd_bus_message *m, const Relabelled *done) {
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

int verb_relabel(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(relabel_call_done) RelabelCall c = { 0 };
        _cleanup_(relabelled_done) Relabelled done = { 0 };
        uint64_t start = now_monotonic_usec();
        const char *context;
        int r;

        r = sd_bus_message_read(m, "stsbtutb", &c.target, &c.mount_id, &context, &c.blind, &c.generation,
                                &c.limits.threads, &c.limits.entries_per_sec, &c.limits.idle);
        if (r >= 0)
                r = unmarshal_effect(m, &c.effect);
        if (r < 0)
                return r;

        r = relabel(child, &c, context, &done, &f);
        if (r == 0) {
                log_relabelled(&c, &done.tree.counts, now_monotonic_usec() - start);
                r = reply(m, &done);
        }
        return child_finish(WORKER_RELABEL, c.target, r, &f, error);
}

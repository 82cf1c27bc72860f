/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "state/messages.h"
#include "daemon/job-object.h"
#include "daemon/record.h"

/* kubelet's names of storage operations, for metrics; NULL: not one. */
static const char *const storage_operation[OPERATIONS] = {
        [OPERATION_MOUNT] = "volume_mount",     [OPERATION_ADOPT] = "volume_adopt",
        [OPERATION_UNMOUNT] = "volume_unmount", [OPERATION_VERIFY] = "volume_verify",
        [OPERATION_RELABEL] = "volume_relabel",
};

/* The one for a walk that gives files to a group, whatever operation it was for. */
static const char operation_apply_access_control[] = "volume_apply_access_control";

static const char *const done_message[OPERATIONS] = {
        [OPERATION_MOUNT] = MESSAGE_MOUNTED,
        [OPERATION_ADOPT] = MESSAGE_ADOPTED,
        [OPERATION_UNMOUNT] = MESSAGE_UNMOUNTED,
};

char *volume_plugin_name(const char *volume_type, const char *driver) {
        return strdup_printf("kubernetes.io/%s%s%s", isempty(volume_type) ? "csi" : volume_type,
                             isempty(driver) ? "" : "/", strempty(driver));
}

static const char *access_mode_label(AccessMode mode) {
        static const char *const labels[ACCESS_MODES] = {
                [ACCESS_INLINE] = "inline",
                [ACCESS_READ_WRITE_ONCE] = "RWO",
                [ACCESS_READ_WRITE_ONCE_POD] = "RWOP",
                [ACCESS_READ_ONLY_MANY] = "ROX",
                [ACCESS_READ_WRITE_MANY] = "RWX",
        };

        return labels[mode];
}

static void count_failure(Job *job, const char *plugin) {
        const char *mode = access_mode_label(job->request.access_mode);
        Metrics *metrics = job->manager->metrics;

        metrics_count(metrics, METRIC_REFUSALS, failure_kind_to_string(job->failure.kind));
        if (job->failure.kind == FAILURE_CONTEXT_CONFLICT && job->operation != OPERATION_PLAN)
                metrics_count(metrics, METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS, plugin, mode);
        if (job->failure.kind == FAILURE_LEVEL_REQUIRED || job->failure.kind == FAILURE_INVALID_CONTEXT)
                metrics_count(metrics, METRIC_CONTAINER_ERRORS, mode);
}

static const char *relabel_outcome(const Walk *w) {
        return w->relabelled == RELABELLED_SKIPPED ? "skipped" : w->complete ? "walked" : "failed";
}

static void count_entries(Metrics *metrics, MetricId id, const WalkCounts *c) {
        uint64_t touched = c->changed + c->failed;

        metrics_add(metrics, id, c->changed, "changed");
        metrics_add(metrics, id, c->done > touched ? c->done - touched : 0, "unchanged");
        metrics_add(metrics, id, c->failed, "failed");
        metrics_add(metrics, id, c->skipped, "skipped");
}

static void count_relabel(const Job *job) {
        Metrics *metrics = job->manager->metrics;
        const Walk *w = &job->walk;

        if (w->relabelled == RELABELLED_NOT)
                return;
        metrics_count(metrics, METRIC_RELABELS, relabel_outcome(w), relabel_reason_to_string(w->reason));
        if (w->started_usec == 0 || !w->labels)
                return;
        metrics_observe(metrics, METRIC_RELABEL_DURATION, w->duration_usec);
        count_entries(metrics, METRIC_RELABEL_ENTRIES, &w->result.counts);
}

static const char *ownership_outcome(const Job *job) {
        static const char *const outcomes[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",
                [OWNERSHIP_OPTION] = "option",
                [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped",
        };
        const Walk *w = &job->walk;

        if (w->ownership.action == OWNERSHIP_WALK)
                return w->complete ? "walked" : "failed";
        /* What was shown to nobody was not done. */
        if (job->failure.kind != FAILURE_NONE &&
            (w->ownership.action == OWNERSHIP_MAP || w->ownership.action == OWNERSHIP_OPTION))
                return "failed";
        return outcomes[w->ownership.action];
}

static void count_ownership(const Job *job, const char *plugin) {
        Metrics *metrics = job->manager->metrics;
        const Walk *w = &job->walk;

        if (w->ownership.reason == OWNERSHIP_NOT_ASKED)
                return;
        metrics_count(metrics, METRIC_OWNERSHIP, ownership_outcome(job),
                      ownership_reason_to_string(w->ownership.reason));
        if (w->started_usec == 0 || !w->groups)
                return;
        metrics_observe(metrics, METRIC_STORAGE_OPERATION_DURATION, w->duration_usec, plugin,
                        operation_apply_access_control, w->complete ? "success" : "fail-unknown");
        metrics_observe(metrics, METRIC_OWNERSHIP_DURATION, w->duration_usec);
        count_entries(metrics, METRIC_OWNERSHIP_ENTRIES, &w->result.counts);
}

static void count_walk(const Job *job, const char *plugin) {
        const Walk *w = &job->walk;

        if (job->operation == OPERATION_VERIFY && w->started_usec > 0)
                metrics_observe(job->manager->metrics, METRIC_VERIFY_DURATION, w->duration_usec,
                                verify_depth_to_string(job->verify.depth));
        if (job->operation == OPERATION_PLAN)
                return;
        count_relabel(job);
        count_ownership(job, plugin);
}

static void count_job(Job *job, uint64_t duration) {
        bool failed = job->failure.kind != FAILURE_NONE;
        _cleanup_free_ char *plugin = NULL;
        Metrics *metrics = job->manager->metrics;

        plugin = volume_plugin_name(job->request.volume_type, job->request.driver);
        if (!plugin)
                return;
        count_walk(job, plugin);
        if (storage_operation[job->operation])
                metrics_observe(metrics, METRIC_STORAGE_OPERATION_DURATION, duration, plugin,
                                storage_operation[job->operation], failed ? "fail-unknown" : "success");
        if (failed) {
                count_failure(job, plugin);
                return;
        }
        if (job->repeated)
                return;
        if (job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT)
                metrics_count(metrics, METRIC_DECISIONS, strategy_to_string(job->plan.strategy),
                              reason_to_string(job->plan.reason));
        if (job->operation == OPERATION_MOUNT && job->plan.reason == REASON_CONTEXT_MOUNT)
                metrics_count(metrics, METRIC_VOLUMES_ADMITTED, plugin, access_mode_label(job->request.access_mode));
}

static void add_history(Job *job, uint64_t duration, const char *text) {
        const Request *q = &job->request;
        bool failed = job->failure.kind != FAILURE_NONE, planned = job->plan.text;
        const HistoryEntry e = {
                .time_usec = now_realtime_usec(),
                .operation = (char *) operation_to_string(job->operation),
                .result = (char *) (failed ? failure_kind_to_string(job->failure.kind) : "done"),
                .reason = (char *) (planned ? reason_to_string(job->plan.reason) : ""),
                .target = q->target,
                .holder = job->holder ? job->holder : q->holder,
                .context = job->plan.context,
                .caller = job->caller,
                .text = (char *) text,
                .duration_usec = duration,
        };

        if (volumes_find(&job->manager->volumes, q->volume))
                store_add_history(job->manager->store, q->volume, &e);
}

static const char *failure_message(const Job *job) {
        switch (job->failure.kind) {
        case FAILURE_CONTEXT_CONFLICT:
        case FAILURE_GROUP_CONFLICT:
                return MESSAGE_CONFLICT;
        case FAILURE_WORKER_FAILED:
                return MESSAGE_WORKER_FAILED;
        case FAILURE_MOUNT_FAILED:
        case FAILURE_TIMED_OUT:
        case FAILURE_ENTRIES_FAILED:
        case FAILURE_CANCELED:
                return MESSAGE_FAILED;
        default:
                return MESSAGE_REFUSED;
        }
}

static const char *job_message(const Job *job) {
        if (job->failure.kind != FAILURE_NONE)
                return failure_message(job);
        if (job->operation == OPERATION_VERIFY && (!job->walk.result.matches || job->walk.result.counts.misowned > 0))
                return MESSAGE_VERIFY_MISMATCH;
        return done_message[job->operation];
}

static const char *relabel_message(const Walk *w) {
        return w->relabelled == RELABELLED_SKIPPED ? MESSAGE_RELABEL_SKIPPED
               : w->complete                       ? MESSAGE_RELABELLED
                                                   : MESSAGE_RELABEL_FAILED;
}

static const char *ownership_message(const Walk *w) {
        switch (w->ownership.action) {
        case OWNERSHIP_SKIP:
                return MESSAGE_OWNERSHIP_SKIPPED;
        case OWNERSHIP_MAP:
                return MESSAGE_OWNERSHIP_MAPPED;
        default:
                return w->complete ? MESSAGE_OWNERSHIP_APPLIED : MESSAGE_OWNERSHIP_FAILED;
        }
}

static void log_record(Job *job, const char *message, bool failed, const char *operation, const char *text) {
        const Request *q = &job->request;
        const Walk *w = &job->walk;
        bool planned = job->plan.text, walked = w->started_usec > 0, relabel = w->relabelled != RELABELLED_NOT,
             group = w->ownership.reason != OWNERSHIP_NOT_ASKED, asked = q->fs_group != GID_NONE;
        char usec[32], id[32], entries[32], changed[32], gid[32];

        (void) snprintf(usec, sizeof(usec), "%llu", (unsigned long long) (now_monotonic_usec() - job->started_usec));
        (void) snprintf(id, sizeof(id), "%llu", (unsigned long long) (job->object ? job->object->id : 0));
        (void) snprintf(entries, sizeof(entries), "%llu", (unsigned long long) w->result.counts.done);
        (void) snprintf(changed, sizeof(changed), "%llu", (unsigned long long) w->result.counts.changed);
        (void) snprintf(gid, sizeof(gid), "%" PRIu32, q->fs_group);

        const LogField fields[] = {
                { "MESSAGE_ID", message },
                { "SELVOL_VOLUME", q->volume },
                { "SELVOL_OPERATION", operation_to_string(job->operation) },
                { "SELVOL_JOB", job->object ? id : NULL },
                { "SELVOL_HOLDER", job->holder ? job->holder : q->holder },
                { "SELVOL_TARGET", q->target },
                { "SELVOL_CONTEXT", w->result.actual ? w->result.actual : job->plan.context },
                { "SELVOL_STRATEGY", planned ? strategy_to_string(job->plan.strategy) : NULL },
                { "SELVOL_REASON", planned ? reason_to_string(job->plan.reason) : NULL },
                { "SELVOL_RELABEL_REASON", relabel ? relabel_reason_to_string(w->reason) : NULL },
                { "SELVOL_FS_GROUP", asked ? gid : NULL },
                { "SELVOL_OWNERSHIP", group ? ownership_action_to_string(w->ownership.action) : NULL },
                { "SELVOL_OWNERSHIP_REASON", group ? ownership_reason_to_string(w->ownership.reason) : NULL },
                { "SELVOL_ENTRIES", walked ? entries : NULL },
                { "SELVOL_ENTRIES_CHANGED", walked && (w->labels || w->groups) ? changed : NULL },
                { "SELVOL_RESULT",
                  job->failure.kind != FAILURE_NONE ? failure_kind_to_string(job->failure.kind) : "done" },
                { "SELVOL_CALLER", job->caller },
                { "SELVOL_DURATION_USEC", usec },
        };

        log_fields(failed ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields), "%s: %s: %s", q->volume, operation,
                   text);
}

/* A sentence, or nothing if there was nothing of the kind. */
static char *describe_partial(uint64_t n, const char *what) {
        return n > 0 ? strdup_printf(" %llu %s, so what is known of the files stays partial.", (unsigned long long) n,
                                     what)
                     : strdup("");
}

/* What a walk did not touch. */
static char *describe_left_alone(const Walk *w) {
        char **mounts = w->result.mounts_inside;
        _cleanup_free_ char *skipped = NULL, *unsettled = NULL, *inside = NULL;

        skipped = describe_partial(w->result.counts.skipped,
                                   "hard links may lead out of the volume and were left alone");
        unsettled = describe_partial(w->result.counts.unsettled,
                                     "directories changed to the last, and what was moved may have been missed");
        inside = mounts ? strdup_printf(" What is mounted inside was not entered: %s%s.", mounts[0],
                                        mounts[1] ? ", and others" : "")
                        : strdup("");
        if (!skipped || !unsettled || !inside)
                return NULL;
        return strdup_printf("%s%s%s", skipped, unsettled, inside);
}

static char *describe_walk(const Walk *w, const char *reason) {
        _cleanup_free_ char *left = describe_left_alone(w);

        return left ? strdup_printf("%llu entries were looked at, and %llu were changed. %s%s",
                                    (unsigned long long) w->result.counts.done,
                                    (unsigned long long) w->result.counts.changed, reason, left)
                    : NULL;
}

static char *describe_relabel(const Job *job) {
        const Walk *w = &job->walk;
        const char *reason = relabel_reason_text(w->reason);

        return w->labels && w->complete ? describe_walk(w, reason) : strdup(reason);
}

static char *describe_ownership(const Job *job) {
        const Walk *w = &job->walk;
        const char *reason = ownership_reason_text(w->ownership.reason);
        _cleanup_free_ char *detail = NULL, *text = NULL;

        detail = isempty(w->why) ? strdup("") : strdup_printf(" (%s)", w->why);
        text = w->groups && w->complete ? describe_walk(w, reason) : strdup(reason);
        if (!detail || !text)
                return NULL;
        return strdup_printf("Group %" PRIu32 ": %s%s", job->request.fs_group, text, detail);
}

/* What became of the files: labels, group, or both. */
static char *describe_files(const Job *job) {
        _cleanup_free_ char *relabel = NULL, *ownership = NULL;
        bool relabelled = job->walk.relabelled != RELABELLED_NOT,
             owned = job->walk.ownership.reason != OWNERSHIP_NOT_ASKED;

        relabel = relabelled ? describe_relabel(job) : strdup("");
        ownership = owned ? describe_ownership(job) : strdup("");
        if (!relabel || !ownership)
                return NULL;
        return strdup_printf("%s%s%s", relabel, relabelled && owned ? " " : "", ownership);
}

static char *describe(const Job *job) {
        _cleanup_free_ char *files = NULL;

        if (job->failure.kind != FAILURE_NONE)
                return strdup(strempty(job->failure.message));
        if (job->operation == OPERATION_VERIFY)
                return strdup(strempty(job->walk.text));
        if (job->operation == OPERATION_UNMOUNT)
                return strdup(job->unmounted ? "Unmounted." : "There was nothing to unmount.");
        files = describe_files(job);
        if (job->operation == OPERATION_RELABEL || job->operation == OPERATION_CHGRP || !files)
                return TAKE_PTR(files);
        return strdup_printf("%s%s%s", strempty(job->plan.text), isempty(files) ? "" : " ", files);
}

static void log_relabel(Job *job) {
        bool failed = job->walk.labels && !job->walk.complete;
        _cleanup_free_ char *text = failed ? strdup(strempty(job->failure.message)) : describe_relabel(job);

        log_record(job, relabel_message(&job->walk), failed, operation_to_string(OPERATION_RELABEL), strempty(text));
}

static void log_ownership(Job *job) {
        bool failed = job->walk.groups && !job->walk.complete;
        _cleanup_free_ char *text = failed ? strdup(strempty(job->failure.message)) : describe_ownership(job);

        log_record(job, ownership_message(&job->walk), failed, operation_to_string(OPERATION_CHGRP), strempty(text));
}

/* What became of the files is a record of its own, whatever operation it was for. */
static void log_job(Job *job) {
        OwnershipAction action = job->walk.ownership.action;
        bool failed = job->failure.kind != FAILURE_NONE, relabel = job->walk.relabelled != RELABELLED_NOT,
             owned = action == OWNERSHIP_SKIP || (action == OWNERSHIP_MAP && !failed) || action == OWNERSHIP_WALK;
        _cleanup_free_ char *text = describe(job);

        if (relabel)
                log_relabel(job);
        if (owned)
                log_ownership(job);
        if ((job->operation != OPERATION_RELABEL || !relabel) && (job->operation != OPERATION_CHGRP || !owned))
                log_record(job, job_message(job), failed, operation_to_string(job->operation), strempty(text));
}

/* A dry run is nobody's decision, and what was decided before is no new one. */
static bool is_decision(const Job *job) {
        return job->operation != OPERATION_PLAN && !job->repeated;
}

void record_history(Job *job) {
        _cleanup_free_ char *text = NULL;

        if (!is_decision(job) ||
            (job->operation == OPERATION_VERIFY && job->walk.result.matches && job->walk.result.counts.misowned == 0))
                return;
        text = describe(job);
        add_history(job, now_monotonic_usec() - job->started_usec, strempty(text));
}

void record_job(Job *job) {
        count_job(job, now_monotonic_usec() - job->started_usec);
        if (is_decision(job))
                log_job(job);
}

static void record_event(Manager *m, Volume *v, const Holder *h, const char *message, int priority,
                         const char *operation, const char *text) {
        const LogField fields[] = {
                { "MESSAGE_ID", message },        { "SELVOL_VOLUME", v->id },
                { "SELVOL_HOLDER", h->name },     { "SELVOL_TARGET", h->target },
                { "SELVOL_CONTEXT", v->context }, { "SELVOL_STRATEGY", strategy_to_string(h->strategy) },
        };
        const HistoryEntry e = {
                .time_usec = now_realtime_usec(),
                .operation = (char *) operation,
                .result = (char *) "done",
                .target = h->target,
                .holder = h->name,
                .context = v->context,
                .text = (char *) text,
        };
        _cleanup_free_ char *target = string_escape(h->target, 200);

        log_fields(priority, fields, ELEMENTSOF(fields), "%s: %s: %s", v->id, strempty(target), text);
        store_add_history(m->store, v->id, &e);
}

void record_holder_lost(Manager *m, Volume *v, const Holder *h) {
        metrics_count(m->metrics, METRIC_HOLDERS_LOST);
        record_event(m, v, h, MESSAGE_HOLDER_LOST, LOG_NOTICE, "release",
                     "The mount was taken away by somebody else: the holder is released.");
}

void record_verdict(Manager *m, const Volume *v, RecordVerdict verdict, const char *text) {
        _cleanup_free_ char *escaped = string_escape(strempty(text), 200);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_RECORD_VERDICT },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_VERDICT", record_verdict_to_string(verdict) },
        };

        metrics_count(m->metrics, METRIC_RECORD_VERDICTS, record_verdict_to_string(verdict));
        log_fields(verdict == VERDICT_BAD ? LOG_WARNING : LOG_NOTICE, fields, ELEMENTSOF(fields),
                   "%s: the volume's own record of its files is not the one expected (%s)%s%s. %s", v->id,
                   record_verdict_to_string(verdict), isempty(escaped) ? "" : ": ", strempty(escaped),
                   verdict == VERDICT_VOLUME ? "It is newer, and counts."
                                             : "Nothing is known of the files any more.");
}

void record_promise_broken(Manager *m, const Volume *v, RecordEffect effect, const char *why) {
        const char *what = effect == EFFECT_FORGET   ? "labels"
                           : effect == EFFECT_DISOWN ? "groups and modes"
                                                     : "labels, groups and modes";
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_RECORD_BROKEN },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->record.context },
        };

        log_fields(LOG_WARNING, fields, ELEMENTSOF(fields),
                   "%s: %s differ that were recorded to be right (%s): nothing is known of them any more.", v->id,
                   what, why);
}

void record_not_marked(Manager *m, const Volume *v, const char *why) {
        if (v)
                log_warning(
                        "%s: the volume's own record still says that all files are right, and can't be changed (%s). It is not believed on this node; relabel the volume, or give it to its group, before it goes to another one.",
                        v->id, why);
}

void record_forgotten(Manager *m, const Volume *v, const char *caller) {
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_FORGOTTEN },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->context },
                { "SELVOL_CALLER", caller },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "%s: the record is dropped.", v->id);
}

void record_reconciled(Manager *m, Volume *v, const Holder *h, const char *outcome) {
        _cleanup_free_ char *text = strdup_printf("Compared with the mount table: %s.", outcome);

        metrics_count(m->metrics, METRIC_RECONCILED, outcome);
        record_event(m, v, h, MESSAGE_RECONCILED, LOG_NOTICE, "reconcile", strempty(text));
}

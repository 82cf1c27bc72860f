/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "core/messages.h"
#include "daemon/record.h"

/* kubelet's names of storage operations, for metrics; NULL: not one. */
static const char *const storage_operation[OPERATIONS] = {
        [OPERATION_MOUNT] = "volume_mount",
        [OPERATION_ADOPT] = "volume_adopt",
        [OPERATION_UNMOUNT] = "volume_unmount",
        [OPERATION_VERIFY] = "volume_verify",
};

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

static void count_job(Job *job, uint64_t duration) {
        bool failed = job->failure.kind != FAILURE_NONE;
        _cleanup_free_ char *plugin = NULL;
        Metrics *metrics = job->manager->metrics;

        plugin = volume_plugin_name(job->request.volume_type, job->request.driver);
        if (!plugin)
                return;
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

static void log_job(Job *job, uint64_t duration, const char *text) {
        const Request *q = &job->request;
        bool failed = job->failure.kind != FAILURE_NONE, planned = job->plan.text;
        const char *message =
                failed ? (job->failure.kind == FAILURE_CONTEXT_CONFLICT ? MESSAGE_CONFLICT
                          : job->failure.kind == FAILURE_WORKER_FAILED  ? MESSAGE_WORKER_FAILED
                          : job->failure.kind == FAILURE_MOUNT_FAILED || job->failure.kind == FAILURE_TIMED_OUT
                                  ? MESSAGE_FAILED
                                  : MESSAGE_REFUSED)
                       : done_message[job->operation];
        char usec[32];

        if (job->operation == OPERATION_VERIFY && !failed && !job->matches)
                message = MESSAGE_VERIFY_MISMATCH;
        (void) snprintf(usec, sizeof(usec), "%llu", (unsigned long long) duration);

        const LogField fields[] = {
                { "MESSAGE_ID", message },
                { "SELVOL_VOLUME", q->volume },
                { "SELVOL_OPERATION", operation_to_string(job->operation) },
                { "SELVOL_HOLDER", job->holder ? job->holder : q->holder },
                { "SELVOL_TARGET", q->target },
                { "SELVOL_CONTEXT", job->actual ? job->actual : job->plan.context },
                { "SELVOL_STRATEGY", planned ? strategy_to_string(job->plan.strategy) : NULL },
                { "SELVOL_REASON", planned ? reason_to_string(job->plan.reason) : NULL },
                { "SELVOL_RESULT", failed ? failure_kind_to_string(job->failure.kind) : "done" },
                { "SELVOL_CALLER", job->caller },
                { "SELVOL_DURATION_USEC", usec },
        };

        log_fields(failed ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields), "%s: %s: %s", q->volume,
                   operation_to_string(job->operation), text);
}

static const char *describe(const Job *job) {
        if (job->failure.kind != FAILURE_NONE)
                return strempty(job->failure.message);
        if (job->operation == OPERATION_VERIFY)
                return job->matches ? "The label is as expected." : "The label is not the one expected.";
        if (job->operation == OPERATION_UNMOUNT)
                return job->unmounted ? "Unmounted." : "There was nothing to unmount.";
        return strempty(job->plan.text);
}

/* A dry run is nobody's decision, and what was decided before is no new one. */
static bool is_decision(const Job *job) {
        return job->operation != OPERATION_PLAN && !job->repeated;
}

void record_history(Job *job) {
        if (is_decision(job) && (job->operation != OPERATION_VERIFY || !job->matches))
                add_history(job, now_monotonic_usec() - job->started_usec, describe(job));
}

void record_job(Job *job) {
        uint64_t duration = now_monotonic_usec() - job->started_usec;

        count_job(job, duration);
        if (is_decision(job))
                log_job(job, duration, describe(job));
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

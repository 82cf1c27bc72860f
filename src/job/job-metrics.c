/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "job/job-metrics.h"
#include "state/reconcile.h"
#include "state/watch.h"

/* kubelet's name for a walk that gives files to a group; selvol uses it for every operation. */
static const char operation_apply_access_control[] = "volume_apply_access_control";

/* kubelet's names of plugins in metrics: "kubernetes.io/csi/DRIVER", or "kubernetes.io/TYPE". */
static char *plugin_name(const char *volume_type, const char *driver) {
        return strdup_printf("kubernetes.io/%s%s%s", isempty(volume_type) ? "csi" : volume_type,
                             isempty(driver) ? "" : "/", strempty(driver));
}

static void count_failure(const Job *job, const char *plugin) {
        const char *mode = metric_access_mode(job->request.access_mode);
        Metrics *metrics = job->jobs->state->metrics;
        FailureKind kind = job->failure.kind;

        metrics_count(metrics, METRIC_REFUSALS, failure_kind_to_string(kind));
        if (kind == FAILURE_CONTEXT_CONFLICT && job->operation != OPERATION_PLAN)
                metrics_count(metrics, METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS, plugin, mode);
        if (kind == FAILURE_LEVEL_REQUIRED || kind == FAILURE_INVALID_CONTEXT)
                metrics_count(metrics, METRIC_CONTAINER_ERRORS, mode);
        if (kind == FAILURE_WORKER_FAILED)
                metrics_count(metrics, METRIC_WORKER_FAILURES, "job");
}

static void count_entries(Metrics *metrics, MetricId id, const WalkCounts *c) {
        uint64_t touched = c->changed + c->failed;

        metrics_add(metrics, id, c->changed, "changed");
        metrics_add(metrics, id, c->done > touched ? c->done - touched : 0, "unchanged");
        metrics_add(metrics, id, c->failed, "failed");
        metrics_add(metrics, id, c->skipped, "skipped");
}

static bool walk_succeeded(const Job *job) {
        return job_operation_result(job)->walked && !job_has_failed(job);
}

static void count_relabel(const Job *job) {
        Metrics *metrics = job->jobs->state->metrics;
        const FilesDecision *d = &job_operation_result(job)->files;

        if (d->relabel == RELABEL_NONE)
                return;
        metrics_count(metrics, METRIC_RELABELS,
                      d->relabel == RELABEL_SKIP ? "skipped"
                      : walk_succeeded(job)      ? "walked"
                                                 : "failed",
                      relabel_reason_to_string(d->relabel_reason));
        if (!job_operation_result(job)->walked || d->relabel != RELABEL_WALK)
                return;
        metrics_observe(metrics, METRIC_RELABEL_DURATION, job->progress.duration_usec);
        count_entries(metrics, METRIC_RELABEL_ENTRIES, &job_operation_result(job)->walk.counts);
}

static const char *ownership_outcome(const Job *job) {
        static const char *const outcomes[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",
                [OWNERSHIP_OPTION] = "option",
                [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped",
        };
        OwnershipAction action = job_operation_result(job)->files.ownership;

        if (action == OWNERSHIP_WALK)
                return walk_succeeded(job) ? "walked" : "failed";
        /* A mount that was never visible gave its group to no files. */
        if (job_has_failed(job) && (action == OWNERSHIP_MAP || action == OWNERSHIP_OPTION))
                return "failed";
        return outcomes[action];
}

static void count_ownership(const Job *job, const char *plugin) {
        Metrics *metrics = job->jobs->state->metrics;
        const FilesDecision *d = &job_operation_result(job)->files;

        if (d->ownership_reason == OWNERSHIP_NOT_ASKED)
                return;
        metrics_count(metrics, METRIC_OWNERSHIP, ownership_outcome(job),
                      ownership_reason_to_string(d->ownership_reason));
        if (!job_operation_result(job)->walked || d->ownership != OWNERSHIP_WALK)
                return;
        metrics_observe(metrics, METRIC_STORAGE_OPERATION_DURATION, job->progress.duration_usec, plugin,
                        operation_apply_access_control, walk_succeeded(job) ? "success" : "fail-unknown");
        metrics_observe(metrics, METRIC_OWNERSHIP_DURATION, job->progress.duration_usec);
        count_entries(metrics, METRIC_OWNERSHIP_ENTRIES, &job_operation_result(job)->walk.counts);
}

static void count_verification(const Job *job) {
        const char *depth = verify_depth_to_string(job->depth);
        Metrics *metrics = job->jobs->state->metrics;

        if (job->progress.duration_usec > 0)
                metrics_observe(metrics, METRIC_VERIFY_DURATION, job->progress.duration_usec, depth);
        if (!job_has_failed(job))
                metrics_count(metrics, METRIC_VERIFICATIONS, depth,
                              job->verify.result.matches ? "match" : "mismatch");
}

void job_count(const Job *job) {
        _cleanup_free_ char *plugin = plugin_name(job->request.volume_type, job->request.driver);
        const char *storage_operation = operation_type(job->operation)->storage_operation;
        uint64_t duration = now_monotonic_usec() - job->started_usec;
        Metrics *metrics = job->jobs->state->metrics;

        /* Nobody has got an error, and nothing was done. */
        if (!plugin || (job->failure.kind == FAILURE_CANCELED && job->unheard && job->progress.started_usec == 0))
                return;
        if (job->operation == OPERATION_VERIFY)
                count_verification(job);
        if (job->operation != OPERATION_PLAN) {
                count_relabel(job);
                count_ownership(job, plugin);
        }
        if (storage_operation)
                metrics_observe(metrics, METRIC_STORAGE_OPERATION_DURATION, duration, plugin, storage_operation,
                                job_has_failed(job) ? "fail-unknown" : "success");
        if (job_has_failed(job)) {
                count_failure(job, plugin);
                return;
        }
        if (job_operation_result(job)->repeated)
                return;
        if (job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT)
                metrics_count(metrics, METRIC_DECISIONS, strategy_to_string(job->plan.strategy),
                              reason_to_string(job->plan.reason));
        if (job->operation == OPERATION_MOUNT && job->plan.reason == REASON_CONTEXT_MOUNT)
                metrics_count(metrics, METRIC_VOLUMES_ADMITTED, plugin, metric_access_mode(job->request.access_mode));
}

/* From the newest to the oldest job, so that the oldest is set last. A job that has ended but whose child
 * lingers counts as "settling"; walks have a state of their own, because they may take long. */
static void measure_ages(Metrics *metrics, const Jobs *jobs) {
        const uint64_t now = now_monotonic_usec();
        const Job *job;

        metrics_reset(metrics, METRIC_OLDEST_JOB);
        for (job = jobs->list ? jobs->list->prev : NULL; job; job = job != jobs->list ? job->prev : NULL) {
                bool walks = job->state == JOB_RUNNING && job->progress.started_usec > 0;
                const char *state = walks ? "walking" : job_has_ended(job) ? "settling" : job_state_word(job);

                if (!job_is_over(job))
                        metrics_set(metrics, METRIC_OLDEST_JOB,
                                    (double) (now - job->started_usec) / (double) USEC_PER_SEC, state);
        }
}

static bool is_walking(const Job *job) {
        return !job_has_ended(job) && job->progress.started_usec > 0;
}

static void count_jobs(Metrics *metrics, const Jobs *jobs) {
        size_t running = 0, waiting = 0, walking = 0;
        const Job *job;

        DL_FOREACH (jobs->list, job) {
                waiting += job_is_waiting(job);
                running += !job_is_waiting(job) && !job_has_ended(job);
                walking += is_walking(job);
        }
        metrics_set(metrics, METRIC_JOBS, (double) running);
        metrics_set(metrics, METRIC_JOBS_WAITING, (double) waiting);
        metrics_set(metrics, METRIC_JOBS_WALKING, (double) walking);
        measure_ages(metrics, jobs);
}

static bool is_left_partial(const Jobs *jobs, const Volume *v) {
        const Job *job;

        if (v->mark.label_state != FILES_PARTIAL)
                return false;
        DL_FOREACH (jobs->list, job)
                if (is_walking(job) && streq_ptr(job->request.volume, v->id))
                        return false;
        return true;
}

static void count_volumes(const State *s, const Jobs *jobs) {
        size_t holders = 0, tainted = 0, partial = 0;
        Volume *v, *next;

        metrics_reset(s->metrics, METRIC_TOTAL_VOLUMES);
        metrics_reset(s->metrics, METRIC_LABEL_STATES);
        metrics_reset(s->metrics, METRIC_OWNERSHIP_STATES);
        HASH_ITER (hh, s->volumes.table, v, next) {
                _cleanup_free_ char *plugin = plugin_name(v->volume_type, v->driver);

                if (plugin)
                        metrics_count(s->metrics, METRIC_TOTAL_VOLUMES, plugin, v->holders ? "held" : "free");
                metrics_count(s->metrics, METRIC_LABEL_STATES, files_state_to_string(v->mark.label_state));
                metrics_count(s->metrics, METRIC_OWNERSHIP_STATES, files_state_to_string(v->mark.ownership_state));
                holders += volume_count_holders(v);
                tainted += v->mark.tainted;
                partial += is_left_partial(jobs, v);
        }
        metrics_set(s->metrics, METRIC_VOLUMES_LIMIT, VOLUMES_MAX);
        metrics_set(s->metrics, METRIC_HOLDERS, (double) holders);
        metrics_set(s->metrics, METRIC_TAINTED_VOLUMES, (double) tainted);
        metrics_set(s->metrics, METRIC_PARTIAL_LABELS, (double) partial);
}

char *jobs_render_metrics(const Jobs *jobs) {
        const State *s = jobs->state;

        count_volumes(s, jobs);
        count_jobs(s->metrics, jobs);
        metrics_set(s->metrics, METRIC_UNRECORDED, HASH_COUNT(s->unrecorded));
        metrics_set(s->metrics, METRIC_ENFORCING, !s->node.selinux ? -1 : s->node.enforcing);
        metrics_set(s->metrics, METRIC_WATCHED, watch_is_heard(s));
        metrics_set(s->metrics, METRIC_CONFIG_REJECTED, s->settings_mistake != NULL);
        return metrics_render(s->metrics);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include <utlist.h>

#include "basic/log.h"
#include "basic/path-util.h"
#include "basic/time-util.h"
#include "job/end.h"
#include "job/job-log.h"
#include "job/job-metrics.h"
#include "job/job-record.h"
#include "job/job-queue.h"
#include "job/orphans.h"
#include "job/places.h"
#include "state/commit.h"
#include "state/watch.h"
#include "wire/peer.h"

/* Replies. */

static void answer_waiters(const Job *job, JobWaiter **waiters, size_t *n) {
        JobWaiter *list = TAKE_PTR(*waiters);
        size_t count = *n;

        *n = 0;
        for (size_t i = 0; i < count; i++)
                list[i].reply(job, list[i].userdata);
        free(list);
}

void job_answer(Job *job) {
        answer_waiters(job, &job->waiters, &job->n_waiters);
}

void job_answer_all(Job *job) {
        job_answer(job);
        answer_waiters(job, &job->followers, &job->n_followers);
}

/* Commits. */

typedef struct Commit {
        Job *job;
        void (*callback)(Job *job);
} Commit;

/* A plan or a verify records nothing; an unmount needs no record, because a later selvold sees it in the
 * mount table. */
static bool needs_record(const Job *job) {
        return operation_type(job->operation)->changes && job->operation != OPERATION_UNMOUNT;
}

/* The effect of a commit that fails, or takes too long. */
static const char *describe_unrecorded(const Job *job) {
        return job_has_outcome(job)    ? "what was done is not recorded yet"
               : job->identity.id != 0 ? "the volume was not mounted"
                                       : "no file was changed";
}

static void on_job_committed(State *s, int error, void *userdata) {
        _cleanup_free_ Commit *c = userdata;
        Job *job = c->job;
        int r;

        if (error < 0 && !job_has_failed(job) && needs_record(job)) {
                if (error == -ECANCELED)
                        r = failure_set(&job->failure, FAILURE_CANCELED,
                                        "selvold is stopping: try again when it runs.");
                else
                        r = failure_set(
                                &job->failure, FAILURE_STORE_FAILED,
                                "The state could not be written to %s (%s), so %s. To fix that, %s, then try again.",
                                s->directory, strerror(-error), describe_unrecorded(job), commit_remedy(error));
                job_fail(job, r);
        }
        c->callback(job);
}

void job_then(Job *job, void (*callback)(Job *job)) {
        /* A verify that has found the mark wrong also changes the record. */
        bool changes = operation_type(job->operation)->changes ||
                       (job->operation == OPERATION_VERIFY && job->verify.result.reset != MARK_KEEP);
        Commit *c;

        if (!changes) {
                callback(job);
                return;
        }
        job->at = AT_STATE;
        c = malloc(sizeof(*c));
        if (c)
                *c = (Commit){ job, callback };
        if (c && commit_then(job->jobs->state, on_job_committed, c) >= 0)
                return;
        free(c);
        if (needs_record(job))
                job_fail(job, -ENOMEM);
        callback(job);
}

/* A refusal is a part of PlanVolume's result. */
void job_report_refusal(Job *job) {
        if (job->operation == OPERATION_PLAN) {
                failure_done(&job->refusal);
                job->refusal = TAKE_STRUCT(job->failure);
        } else if (job->plan.n_conflicts > 0)
                event_emit(job->jobs->state, conflict, job->request.volume, job->failure.kind, &job->plan);
}

/* The end of a job. */

void job_release(Job *job) {
        State *s = job->jobs->state;
        const Holder *h = job->request.target ? job_find_at_target(job, NULL) : NULL;

        log_debug("%s: job %llu: child gone, claims released.", job->request.volume, (unsigned long long) job->id);
        claims_leave(&s->claims, &job->claims);
        queue_advance(job->jobs);
        /* While the job ran, selvold ignored changes of the mount table at its target. */
        if (s->recheck_needed || (h && h->state != HOLDER_MOUNTED && operation_type(job->operation)->changes))
                watch_recheck(s);
}

static void job_finish(Job *job) {
        job_log(job);
        job_count(job);
        job_set_state(job, job->worker ? JOB_ENDED : JOB_OVER);
        job->deadline_usec = UINT64_MAX;
        job->progress.expected_end_usec = 0;
        /* Callers may look up a job whose path they got as a reply. */
        if (operation_type(job->operation)->answered_early && !job_has_failed(job))
                job_show(job);
        job_answer_all(job);
        if (job->shown)
                event_emit(job->jobs->state, job_ended, job);
        /* Wait answers with the rest for as long as the job is kept. */
        while (job->plan.n_conflicts > 0)
                plan_drop_conflict(&job->plan, job->plan.n_conflicts - 1);
        job->observed.mounts = mount_facts_free(job->observed.mounts, job->observed.n_mounts);
        job->observed.n_mounts = 0;
        job->request.mount_options = strv_free(job->request.mount_options);
        if (job_is_over(job))
                job_release(job);
}

void job_conclude(Job *job) {
        job->ended_usec = now_monotonic_usec();
        if (job->progress.started_usec > 0 && job->progress.duration_usec == 0)
                job->progress.duration_usec = job->ended_usec - job->progress.started_usec;
        job_set_state(job, JOB_COMMITTING);
        /* The identity of the mount is durable, and a later selvold sees in the mount table that the mount
         * was made; or that it is gone, and in the notes that selvol has unmounted it. */
        if ((job->identity.id != 0 && !job_has_failed(job)) || job->operation == OPERATION_UNMOUNT)
                job_finish(job);
        else
                job_then(job, job_finish);
}

void job_revert(Job *job) {
        const OperationType *type = operation_type(job->operation);

        if (type->revert)
                type->revert(job);
}

void job_conclude_failed(Job *job) {
        job_revert(job);
        job_conclude(job);
}

void job_stop(Job *job) {
        switch (job->state) {
        case JOB_QUEUED:
        case JOB_PARKED:
                job_conclude(job);
                return;
        case JOB_LEAVING:
                /* Replies now, although the child may linger. */
                job_answer(job);
                job_set_state(job, JOB_STOPPING);
                break;
        case JOB_RUNNING:
        case JOB_ACTING:
                job_set_state(job, JOB_STOPPING);
                break;
        case JOB_STOPPING:
        case JOB_SETTLING:
                break;
        default:
                return;
        }
        if (job->worker)
                peer_hang_up(job->worker);
}

/* Frees what is not kept. Returns the job that ended first, or of a caller with too many, or of all if there
 * are too many, its first one; NULL: no job is kept. */
static Job *find_oldest(Jobs *jobs, bool *ret_surplus) {
        Job *kept[JOBS_KEPT_ALL], *job, *next, *oldest = NULL;
        size_t n_kept = 0, n;

        *ret_surplus = false;
        DL_FOREACH_SAFE (jobs->list, job, next) {
                if (!job_is_over(job))
                        continue;
                /* Nobody asks for the end of a job that was never on the bus, nor of a plan, whose answer has
                 * everything. */
                if (!job->shown || job->operation == OPERATION_PLAN) {
                        if (job->shown)
                                event_emit(jobs->state, job_removed, job);
                        job_free(job);
                        continue;
                }
                if (!oldest || job->ended_usec < oldest->ended_usec)
                        oldest = job;
                if (n_kept == JOBS_KEPT_ALL)
                        *ret_surplus = true;
                else
                        kept[n_kept++] = job;
        }
        for (size_t i = 0; i < n_kept && !*ret_surplus; i++) {
                n = 0;
                for (size_t k = 0; k < n_kept; k++)
                        n += kept[k]->caller.uid == kept[i]->caller.uid && kept[k]->ended_usec >= kept[i]->ended_usec;
                if (n > JOBS_KEPT_MAX) {
                        *ret_surplus = true;
                        return kept[i];
                }
        }
        return oldest;
}

void jobs_expire(Jobs *jobs) {
        uint64_t now = now_monotonic_usec(), kept = JOB_KEPT_SEC * USEC_PER_SEC;

        for (;;) {
                bool surplus;
                Job *oldest = find_oldest(jobs, &surplus);

                if (!oldest) {
                        (void) sd_event_source_set_enabled(jobs->expiry, SD_EVENT_OFF);
                        return;
                }
                if (!surplus && now < oldest->ended_usec + kept) {
                        (void) sd_event_source_set_time(jobs->expiry, oldest->ended_usec + kept);
                        (void) sd_event_source_set_enabled(jobs->expiry, SD_EVENT_ONESHOT);
                        return;
                }
                event_emit(jobs->state, job_removed, oldest);
                job_free(oldest);
        }
}

/* "10 of about 300 entries are done, and 5 were changed"; NULL on lack of memory. */
static char *describe_walk(const Job *job) {
        const WalkCounts *c = &job->progress.counts;
        const uint64_t total = job->progress.total;
        _cleanup_free_ char *of = total > 0 ? strdup_printf(" of about %" PRIu64, total) : strdup(""),
                            *changed = operation_type(job->operation)->changes
                                               ? strdup_printf(", and %" PRIu64 " were changed", c->changed)
                                               : strdup("");

        return of && changed ? strdup_printf("%" PRIu64 "%s entries are done%s", c->done, of, changed) : NULL;
}

/* Canceling. */

void job_cancel(Job *job, const char *by) {
        const char *operation = operation_to_string(job->operation);
        _cleanup_free_ char *walk = NULL;
        int r;

        if (job->state >= JOB_STOPPING)
                return;
        failure_done(&job->failure);
        if (job->progress.started_usec == 0 || !operation_type(job->operation)->changes)
                r = failure_set(&job->failure, FAILURE_CANCELED, "The %s was canceled by %s.", operation, by);
        else {
                walk = describe_walk(job);
                r = walk ? failure_set(
                                   &job->failure, FAILURE_CANCELED,
                                   "The %s was canceled by %s: %s, and only a part of the files is right. Try again to complete it.",
                                   operation, by, walk)
                         : -ENOMEM;
        }
        job_fail(job, r);
        job_stop(job);
}

static void cancel_for_unmount(Job *job) {
        if (job->state < JOB_STOPPING)
                job->unheard = job_is_abandoned(job);
        job_cancel(job, "an unmount");
}

/* A running verify keeps the mount busy and delays an unmount. */
void job_cancel_verifies(const Job *unmount) {
        const char *target = unmount->request.target;
        Job *job, *next;

        DL_FOREACH_SAFE (unmount->jobs->list, job, next) {
                const char *path = strempty(job->request.target);

                if (job->operation == OPERATION_VERIFY && (streq(path, target) || path_is_beneath(path, target)))
                        cancel_for_unmount(job);
        }
}

/* Whether the job is queued before the unmount and useless after it: a mount at the same target, an adoption
 * of the mount there that walks, or a relabel or ownership that works through this mount while the volume has
 * no other holder. */
static bool is_undone_by(const Job *job, const Job *unmount) {
        const char *target = unmount->request.target;
        const Volume *v = job_volume(job);

        if (job == unmount || !streq(job->request.volume, unmount->request.volume))
                return false;
        if (job->operation == OPERATION_MOUNT)
                return streq(job->request.target, target) && job->state <= JOB_RUNNING;
        /* Without a walk an adoption is soon done, and the unmount then knows its mount. */
        if (job->operation == OPERATION_ADOPT)
                return streq(job->request.target, target) && job->state == JOB_RUNNING && job->walk_asked;
        return operation_type(job->operation)->answered_early && v && v->holders && !v->holders->next &&
               streq_ptr(job_is_waiting(job) ? v->holders->target : job->share_target, target);
}

void job_cancel_undone(const Job *unmount) {
        Job *job, *next;

        DL_FOREACH_SAFE (unmount->jobs->list, job, next)
                if (is_undone_by(job, unmount))
                        cancel_for_unmount(job);
}

bool job_cancel_walk(Job *job) {
        /* Later calls follow in the list. */
        for (Job *unmount = job->next; unmount; unmount = unmount->next)
                if (unmount->operation == OPERATION_UNMOUNT && !job_has_outcome(unmount) &&
                    is_undone_by(job, unmount)) {
                        cancel_for_unmount(job);
                        return true;
                }
        return false;
}

/* Time limits. */

static int set_timed_out(Job *job) {
        static const char *const activities[AT_WORDS] = {
                [AT_LOOK] = "source and target were looked at",
                [AT_STAGE] = "it was mounted, or its label looked at",
                [AT_FILES] = "its files were visited",
                [AT_PUBLISH] = "the mount was moved to the target",
                [AT_UNMOUNT] = "it was unmounted",
        };
        const Volume *v = job_volume(job);
        const bool walked = job->progress.counts.done > 0;
        _cleanup_free_ char *source = NULL, *walk = walked ? describe_walk(job) : NULL, *what = NULL;

        /* Without a limit from the caller, a walk only exceeds its time if it hangs. */
        if (job->request.timeout_usec > 0 && walked && job->at != AT_PUBLISH && job->at != AT_STATE) {
                what = walk ? strdup_printf("The walk over all files was not done within \"TimeoutUSec\": %s.", walk)
                            : NULL;
                return failure_set_lines(
                        &job->failure, FAILURE_TIMED_OUT, what,
                        operation_type(job->operation)->changes
                                ? "Call again to continue: what is right already is not written again. Or allow more time."
                                : "Allow more time: a further call begins anew.");
        }
        if (job->at == AT_WORKER)
                return failure_set(
                        &job->failure, FAILURE_TIMED_OUT,
                        "selvol-worker did not answer in time: see 'systemctl status selvol-worker'. The volume is busy until that attempt has ended.");
        if (job->at == AT_STATE)
                return failure_set(
                        &job->failure, FAILURE_TIMED_OUT,
                        "The state could not be written to %s in time, so %s: check the disk that it is on (journalctl -k). Volumes can still be unmounted.",
                        job->jobs->state->directory, describe_unrecorded(job));
        source = string_escape(job->request.source ?: v ? strempty(v->source) : "", 200);
        if (!source || (walked && !walk))
                return -ENOMEM;
        return failure_set(
                &job->failure, FAILURE_TIMED_OUT,
                "The file system%s%s did not answer in time while %s%s%s%s: check its device or server (journalctl -k), or pass \"TimeoutUSec\" for more time. The volume is busy until that attempt has ended; others are not affected.",
                isempty(source) ? "" : " of ", source, activities[job->at], walked ? " (" : "", strempty(walk),
                walked ? ")" : "");
}

/* Answers the callers that wait now; the job goes on. */
static void answer_late(Job *job) {
        const bool failed = job_has_failed(job);

        if (!failed)
                job_fail(job, set_timed_out(job));
        job_answer(job);
        if (!failed)
                failure_done(&job->failure);
}

/* The time of a job that waits is over. One that waits for a conflict already has the conflict as its
 * failure. */
static void fail_waiting(Job *job) {
        if (job_is_abandoned(job)) {
                job->unheard = true;
                failure_done(&job->failure);
                job_fail(job,
                         failure_set(&job->failure, FAILURE_CANCELED,
                                     "The %s was canceled: its caller has gone, and nobody has repeated the call.",
                                     operation_to_string(job->operation)));
        } else if (queue_waits_for_conflict(job))
                queue_tell_wait(job);
        else if (!orphans_fail_busy(job) && !places_fail_busy(job))
                queue_fail_busy(job);
}

int job_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        uint64_t now = now_monotonic_usec();
        Job *job = userdata;

        if (now >= job->notice_usec) {
                job->notice_usec = UINT64_MAX;
                if (!places_log_orphans(job))
                        queue_log_long_wait(job);
        }
        if (now >= job->deadline_usec) {
                job->deadline_usec = UINT64_MAX;
                switch (job->state) {
                case JOB_QUEUED:
                case JOB_PARKED:
                case JOB_LEAVING:
                        fail_waiting(job);
                        break;
                case JOB_COMMITTING:
                        answer_late(job);
                        break;
                case JOB_RUNNING:
                case JOB_ACTING:
                        /* umount2(2) writes everything back, and a reply still counts. */
                        if (job->at == AT_UNMOUNT) {
                                answer_late(job);
                                job_set_timer(job);
                                return 0;
                        }
                        job_fail(job, set_timed_out(job));
                        job_answer(job);
                        break;
                default:
                        job_answer(job);
                }
                job_stop(job);
        }
        job_set_timer(job);
        return 0;
}

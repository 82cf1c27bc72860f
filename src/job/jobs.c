/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/end.h"
#include "job/introduce.h"
#include "job/job-log.h"
#include "job/jobs.h"
#include "job/job-queue.h"
#include "job/orphans.h"
#include "job/places.h"
#include "job/run.h"
#include "model/quota.h"
#include "state/commit.h"
#include "state/reconcile.h"

static int on_expiry(sd_event_source *source, uint64_t usec, void *userdata) {
        jobs_expire(userdata);
        return 0;
}

static int on_advance(sd_event_source *source, void *userdata) {
        jobs_advance(userdata);
        return 0;
}

static void on_mount_gone(void *userdata, const char *target) {
        Jobs *jobs = userdata;

        queue_mount_gone(jobs, target);
        if (jobs->state->ephemeral_unused)
                queue_advance(jobs);
}

static int on_orphans(void *userdata, const OrphanInfo *list, size_t n) {
        return orphans_take(userdata, list, n);
}

int jobs_new(State *state, Jobs **ret) {
        _cleanup_(jobs_freep) Jobs *jobs = calloc(1, sizeof(*jobs));
        int r;

        if (!jobs)
                return -ENOMEM;
        jobs->state = state;
        r = sd_event_add_defer(state->event, &jobs->advance, on_advance, jobs);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(jobs->advance, SD_EVENT_OFF);
        if (r < 0)
                return r;
        r = sd_event_add_time(state->event, &jobs->expiry, CLOCK_MONOTONIC, 0, 0, on_expiry, jobs);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(jobs->expiry, SD_EVENT_OFF);
        if (r < 0)
                return r;
        state->mount_gone = on_mount_gone;
        state->take_orphans = on_orphans;
        state->userdata = jobs;
        /* An earlier selvold may have ended before it dropped an ephemeral record. */
        state->ephemeral_unused = true;
        queue_advance(jobs);
        *ret = TAKE_PTR(jobs);
        return 0;
}

Jobs *jobs_free(Jobs *jobs) {
        if (!jobs)
                return NULL;
        jobs->state->mount_gone = NULL;
        jobs->state->take_orphans = NULL;
        orphans_free(jobs);
        /* Tells the waiters that there will be no commit. */
        commit_teardown(jobs->state);
        while (jobs->list) {
                Job *job = jobs->list;

                if (!job_has_ended(job)) {
                        failure_done(&job->failure);
                        job_fail(job, failure_set(&job->failure, FAILURE_CANCELED,
                                                  "selvold is stopping: try again when it runs."));
                        job_set_state(job, JOB_OVER);
                        job_log(job);
                        job_answer_all(job);
                }
                job_free(job);
        }
        sd_event_source_disable_unref(jobs->advance);
        sd_event_source_disable_unref(jobs->expiry);
        free(jobs);
        return NULL;
}

Job *job_find(const Jobs *jobs, uint64_t id) {
        Job *job;

        DL_FOREACH (jobs->list, job)
                if (job->id == id && job->shown)
                        return job;
        return NULL;
}

Job *job_find_running(const Jobs *jobs, const char *volume) {
        Job *job;

        DL_FOREACH (jobs->list, job)
                if (job->shown && !job_has_ended(job) && streq(job->request.volume, volume))
                        return job;
        return NULL;
}

/* Waiters. */

/* Calls of root count for the total limit only. */
static int add_waiter(JobWaiter **list, size_t *n, const Caller *caller, LimitKind kind, JobReply reply,
                      void *userdata, Failure *f) {
        JobWaiter *grown;
        Quota q = { 0 };

        for (size_t i = 0; i < *n; i++)
                quota_count(&q, 1, !caller->trusted && (*list)[i].uid == caller->uid);
        if (quota_check(&q, kind, 1, caller->trusted) != QUOTA_FITS)
                return failure_set(
                        f, FAILURE_LIMIT_REACHED,
                        "Too many calls wait for this job (limit %i, or %i for one user). Try again later.",
                        WAITERS_MAX - WAITERS_RESERVED, WAITERS_OF_USER_MAX);
        grown = reallocarray(*list, *n + 1, sizeof(JobWaiter));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        grown[(*n)++] = (JobWaiter){ reply, userdata, caller->uid };
        return 0;
}

static bool remove_waiter(JobWaiter *list, size_t *n, const void *userdata) {
        for (size_t i = 0; i < *n; i++)
                if (list[i].userdata == userdata) {
                        list[i] = list[--*n];
                        return true;
                }
        return false;
}

void job_forget_waiter(Jobs *jobs, const void *userdata) {
        Job *job;

        DL_FOREACH (jobs->list, job)
                if (remove_waiter(job->waiters, &job->n_waiters, userdata) ||
                    remove_waiter(job->followers, &job->n_followers, userdata)) {
                        if (job->state == JOB_QUEUED || job->state == JOB_PARKED)
                                queue_let_past(job);
                        return;
                }
}

int job_follow(Job *job, const Caller *caller, bool cancels, JobReply reply, void *userdata, Failure *f) {
        const LimitKind kind = cancels ? LIMIT_WAITERS_TO_CANCEL : LIMIT_WAITERS;

        if (job_has_ended(job)) {
                reply(job, userdata);
                return 0;
        }
        return add_waiter(&job->followers, &job->n_followers, caller, kind, reply, userdata, f);
}

/* Starting a job. */

static bool is_same(const Job *job, Operation operation, const Request *q, VerifyDepth depth) {
        const Request *own = &job->request;

        if (job->operation != operation || !streq(own->volume, q->volume))
                return false;
        switch (operation) {
        case OPERATION_UNMOUNT:
                return streq_ptr(own->target, q->target); /* a verify has no target */
        case OPERATION_VERIFY:
                return depth != VERIFY_ROOT && job->depth == depth && streq(strempty(own->context), q->context) &&
                       own->fs_group == q->fs_group;
        case OPERATION_RELABEL:
        case OPERATION_OWNERSHIP:
                /* A forced walk also serves callers that did not force; not the other way round. */
                return streq_ptr(own->context, q->context) && own->fs_group == q->fs_group &&
                       own->read_only == q->read_only && own->by_root == q->by_root &&
                       (own->walk.force || !q->walk.force);
        case OPERATION_PLAN:
                return false;
        default:
                return request_equal(own, q);
        }
}

/* Whether the job may undo what an equal job before it has done. */
static bool undoes_call(const Job *job, Operation operation, const Request *q) {
        const Request *own = &job->request;
        const bool relabels = job->operation == OPERATION_RELABEL || own->relabel_by == RELABEL_BY_SERVICE,
                   regroups = own->fs_group != GID_NONE && own->fs_group != q->fs_group;

        if (!operation_type(job->operation)->changes || !streq(own->volume, q->volume))
                return false;
        switch (operation) {
        case OPERATION_RELABEL:
                return relabels;
        case OPERATION_OWNERSHIP:
                return regroups;
        case OPERATION_VERIFY:
                return relabels || regroups;
        default:
                return job->operation != operation && streq(own->target, q->target);
        }
}

static bool did_nothing(const Job *job) {
        return job_has_ended(job) && job_has_failed(job) && job->progress.started_usec == 0;
}

/* The job that does exactly this and can still reply, unless a later job undoes it: the last of calls that
 * contradict each other decides. Its first caller sets the pace of its walk. */
static Job *find_same(Jobs *jobs, Operation operation, const Request *q, VerifyDepth depth) {
        Job *job, *same = NULL;

        DL_FOREACH (jobs->list, job)
                if (is_same(job, operation, q, depth))
                        same = same || job->state >= JOB_STOPPING ? same : job;
                else if (undoes_call(job, operation, q) && !did_nothing(job))
                        same = NULL;
        return same;
}

static int join_job(Job *job, const Request *q, const Caller *caller, JobReply reply, void *userdata, Failure *f) {
        bool abandoned;
        int r;

        if (operation_type(job->operation)->answered_early && job->progress.started_usec > 0) {
                reply(job, userdata);
                return 0;
        }
        abandoned = job_is_abandoned(job);
        r = add_waiter(&job->waiters, &job->n_waiters, caller, LIMIT_WAITERS, reply, userdata, f);
        if (r != 0)
                return r;
        /* The time of the earlier callers is over. */
        if (job->deadline_usec == UINT64_MAX)
                job_set_deadline(job,
                                 q->timeout_usec > 0 ? q->timeout_usec : job->jobs->state->settings.job_timeout_usec);
        /* The time of a caller who is back counts from this call. */
        if (abandoned && (job->state == JOB_QUEUED || job->state == JOB_PARKED)) {
                job->started_usec = now_monotonic_usec();
                job_set_deadline(job, job->state == JOB_PARKED ? job->request.wait_usec : job_timeout_usec(job));
        }
        log_debug("%s: job %llu: another caller waits for it.", job->request.volume, (unsigned long long) job->id);
        queue_advance(job->jobs);
        return 0;
}

/* The volume that will be at the target when the jobs before have ended, or the last one that they unmount
 * there. No job mounts a volume where another one stays. */
static int resolve_volume(const Jobs *jobs, Request *q) {
        const Unrecorded *lost = unrecorded_find(jobs->state, q->target);
        const char *volume = lost ? lost->volume : NULL;
        bool stays = lost;
        const Job *job;
        Volume *v;

        if (volumes_find_target(&jobs->state->volumes, q->target, &v)) {
                volume = v->id;
                stays = true;
        }
        DL_FOREACH (jobs->list, job) {
                if (!operation_type(job->operation)->changes || job_has_outcome(job) ||
                    !streq(strempty(job->request.target), q->target))
                        continue;
                if (!stays)
                        volume = job->request.volume;
                stays = job->operation != OPERATION_UNMOUNT || !streq(volume, job->request.volume);
        }
        return volume ? free_and_strdup(&q->volume, volume) : 0;
}

DEFINE_CLEANUP_FUNC(Job *, job_free);

static int job_new(Jobs *jobs, Operation operation, Request *request, VerifyDepth depth, Caller *caller,
                   JobReply reply, void *userdata, Failure *f, Job **ret) {
        _cleanup_(job_freep) Job *job = calloc(1, sizeof(*job));
        const Volume *v;
        int r;

        if (!job)
                return -ENOMEM;
        *job = (Job){
                .jobs = jobs,
                .id = commit_next_job(jobs->state),
                .operation = operation,
                .state = JOB_QUEUED,
                .request = *request,
                .bytes = request_count_bytes(request),
                .depth = depth,
                .caller = *caller,
                .started_usec = now_monotonic_usec(),
                .started_realtime_usec = now_realtime_usec(),
                .deadline_usec = UINT64_MAX,
                .notice_usec = UINT64_MAX,
                .plan = { .fs_group = GID_NONE },
        };
        *request = REQUEST_INIT;
        *caller = (Caller){ 0 };
        if (operation == OPERATION_VERIFY)
                job->verify.call.gid = GID_NONE;
        else if (operation != OPERATION_UNMOUNT)
                job->result.files = (FilesDecision){ .gid = GID_NONE, .disk_gid = GID_NONE };
        DL_APPEND(jobs->list, job);
        v = job_volume(job);
        r = places_source(v ? v->source : job->request.source, &job->source);
        if (r < 0)
                return r;
        r = add_waiter(&job->waiters, &job->n_waiters, &job->caller, LIMIT_WAITERS, reply, userdata, f);
        if (r != 0)
                return r;
        if (operation_type(operation)->changes) {
                r = queue_enter(jobs->state, &job->claims, job->request.volume, job->request.target);
                if (r < 0)
                        return r;
        }
        r = sd_event_add_time(jobs->state->event, &job->timer, CLOCK_MONOTONIC, 0, 0, job_on_timer, job);
        if (r < 0)
                return r;
        job_set_deadline(job, job_timeout_usec(job));
        *ret = TAKE_PTR(job);
        return 0;
}

int job_start(Jobs *jobs, Operation operation, Request *request, VerifyDepth depth, Caller *caller, JobReply reply,
              void *userdata, Failure *f) {
        Places places;
        Job *job;
        int r;

        if (operation == OPERATION_UNMOUNT && isempty(request->volume)) {
                r = resolve_volume(jobs, request);
                if (r < 0)
                        return r;
        }
        job = find_same(jobs, operation, request, depth);
        if (job)
                return join_job(job, request, caller, reply, userdata, f);
        if (!caller->trusted && operation_type(operation)->introduces &&
            !volumes_find(&jobs->state->volumes, request->volume)) {
                r = introduce_check(INTRODUCE_PASSWD, caller->uid, request->volume, f);
                if (r != 0)
                        return r;
        }
        r = places_admit(jobs, operation, request, caller, f);
        if (r != 0)
                return r;
        r = job_new(jobs, operation, request, depth, caller, reply, userdata, f, &job);
        if (r != 0)
                return r;
        if (operation == OPERATION_UNMOUNT) {
                job_cancel_undone(job);
                job_cancel_verifies(job);
        }
        log_debug("%s: job %llu: %s.", job->request.volume, (unsigned long long) job->id,
                  operation_to_string(operation));
        places_count(&places, jobs);
        if (places_have_room(&places, job) && queue_is_turn(job))
                job_run(job);
        else
                queue_show(job);
        return 0;
}

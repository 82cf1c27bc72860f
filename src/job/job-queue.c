/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/path-util.h"
#include "basic/time-util.h"
#include "job/job-log.h"
#include "job/job-queue.h"
#include "plan/plan-refusal.h"
#include "state/reconcile.h"

/* Volume and target; a further claim is the superblock. */
enum { CLAIMS_FIRST = 2 };

void queue_advance(Jobs *jobs) {
        (void) sd_event_source_set_enabled(jobs->advance, SD_EVENT_ONESHOT);
}

static size_t count_first_claims(const Job *job) {
        return isempty(job->request.target) ? CLAIMS_FIRST - 1 : CLAIMS_FIRST;
}

int queue_enter(State *s, Claimant *c, const char *volume, const char *target) {
        _cleanup_free_ char *volume_key = NULL, *target_key = NULL;

        if (!isempty(volume)) {
                volume_key = strdup_printf("volume:%s", volume);
                if (!volume_key)
                        return -ENOMEM;
        }
        if (!isempty(target)) {
                target_key = target_claim_key(target);
                if (!target_key)
                        return -ENOMEM;
        }
        return claims_enter(&s->claims, c, (const char *const[]){ volume_key, target_key }, CLAIMS_FIRST);
}

bool queue_has_claimed(const State *s, const char *volume) {
        _cleanup_free_ char *key = strdup_printf("volume:%s", volume);

        return !key || claims_is_owned(&s->claims, key);
}

int queue_claim_superblock(Job *job, const char *key) {
        Claims *claims = &job->jobs->state->claims;
        const char *old = claims_last_key(&job->claims, count_first_claims(job));
        int r;

        if (old && !streq_ptr(old, key)) {
                claims_drop_last(claims, &job->claims);
                queue_advance(job->jobs);
                old = NULL;
        }
        if (!old && key) {
                r = claims_add(claims, &job->claims, key);
                if (r < 0)
                        return r;
        }
        return claims_take(&job->claims);
}

bool queue_waits_for_conflict(const Job *job) {
        return job->state == JOB_PARKED || (job->state == JOB_LEAVING && job->plan.n_conflicts > 0);
}

void queue_tell_wait(Job *job) {
        const Conflict *c = &job->plan.conflicts[0];
        _cleanup_free_ char *who = plan_describe_holder(c, job->request.volume),
                            *before = TAKE_PTR(job->failure.message), *remedy = NULL;
        char *second = before ? strchr(before, '\n') : NULL;
        int r = -ENOMEM;

        if (who && second) {
                remedy = strdup_printf("Waited %gs for %s. %s",
                                       (double) job->request.wait_usec / (double) USEC_PER_SEC, who, second + 1);
                *second = '\0';
                r = failure_set_lines(&job->failure, job->failure.kind, before, remedy);
                *second = '\n';
        }
        if (r < 0)
                job->failure.message = TAKE_PTR(before);
}

bool queue_may_wait(Job *job) {
        uint64_t end = job->started_usec + job->request.wait_usec;

        if (job->operation != OPERATION_MOUNT || job->plan.n_conflicts == 0 || job->request.wait_usec == 0)
                return false;
        if (now_monotonic_usec() >= end) {
                queue_tell_wait(job);
                return false;
        }
        job->deadline_usec = end;
        job_set_timer(job);
        return true;
}

void queue_let_past(Job *job) {
        /* A job that waits for a conflict, or whose callers have all gone, lets others pass. */
        job->claims.passive = job->state == JOB_PARKED || job_is_abandoned(job);
        /* A caller who comes back within this time finds the job in its place. */
        if (job_is_abandoned(job))
                job_set_deadline(job, job_timeout_usec(job));
        if (job->claims.passive) {
                claims_yield(&job->claims);
                /* A job that waits for a superblock owns all of its claims before it. */
                while (job->claims.n_entries > count_first_claims(job))
                        claims_drop_last(&job->jobs->state->claims, &job->claims);
        }
        queue_advance(job->jobs);
}

/* A job may wait for long, and its next child looks again. The job goes on when the conflicts that are left
 * have ended, and then finds the others. */
static void drop_details(Job *job) {
        Plan *p = &job->plan;
        size_t bytes = 0, n = 0;

        job->observed.mounts = mount_facts_free(job->observed.mounts, job->observed.n_mounts);
        job->observed.n_mounts = 0;
        while (n < p->n_conflicts &&
               (n == 0 || bytes + conflict_count_bytes(&p->conflicts[n]) <= JOB_CONFLICTS_BYTES))
                bytes += conflict_count_bytes(&p->conflicts[n++]);
        while (p->n_conflicts > n)
                plan_drop_conflict(p, p->n_conflicts - 1);
}

void queue_return(Job *job) {
        drop_details(job);
        job_set_state(job, queue_waits_for_conflict(job) ? JOB_PARKED : JOB_QUEUED);
        job->run_usec = 0;
        log_debug("%s: job %llu: is queued.", job->request.volume, (unsigned long long) job->id);
        queue_let_past(job);
}

static void end_conflicts(Job *job, const char *target) {
        Plan *p = &job->plan;

        if (!queue_waits_for_conflict(job))
                return;
        /* After a foreign mount has gone, any of the foreign conflicts may have ended: the child of the next
         * attempt looks again. */
        for (size_t i = 0; i < p->n_conflicts;)
                if (target ? streq(p->conflicts[i].target, target) : isempty(p->conflicts[i].volume))
                        plan_drop_conflict(p, i);
                else
                        i++;
        if (p->n_conflicts > 0)
                return;
        /* A job whose conflict has ended gets its full time again. */
        plan_done(p);
        failure_done(&job->failure);
        if (job->state == JOB_PARKED)
                job_set_state(job, JOB_QUEUED);
        job_set_deadline(job, job_timeout_usec(job));
        queue_advance(job->jobs);
}

void queue_mount_gone(Jobs *jobs, const char *target) {
        Job *job;

        jobs->n_gone += !target;
        DL_FOREACH (jobs->list, job)
                end_conflicts(job, target);
}

void queue_check_look(Job *job) {
        if (job->n_gone != job->jobs->n_gone)
                end_conflicts(job, NULL);
}

/* A running verify at or beneath the target of an unmount. */
static Job *find_verify(const Job *job) {
        const char *target = job->request.target;
        Job *other;

        if (job->operation != OPERATION_UNMOUNT)
                return NULL;
        DL_FOREACH (job->jobs->list, other)
                if (other->operation == OPERATION_VERIFY && !job_is_over(other) && other->request.target &&
                    (streq(other->request.target, target) || path_is_beneath(other->request.target, target)))
                        return other;
        return NULL;
}

bool queue_is_turn(Job *job) {
        if (job->state != JOB_QUEUED)
                return false;
        job->claims.passive = job_is_abandoned(job);
        if (job->claims.passive || find_verify(job))
                return false;
        return claims_take(&job->claims);
}

static Job *find_job_in_front(const Job *job) {
        const Claimant *blocker = claims_find_blocker(&job->claims);
        Job *other;

        DL_FOREACH (job->jobs->list, other)
                if (&other->claims == blocker)
                        return other;
        return find_verify(job);
}

const Job *queue_get_front(const Job *job) {
        const Job *front = job_is_waiting(job) ? find_job_in_front(job) : NULL;

        return front && !job_has_ended(front) ? front : NULL;
}

static bool wait_is_long(const Job *job) {
        const Job *front = find_job_in_front(job);

        return !front || !job_has_ended(front);
}

/* Describes the blocking job, for a text that has already named the job's volume. front NULL: a child of an
 * earlier selvold. */
static char *describe_front(const Job *job, const Job *front, const char *progress) {
        _cleanup_free_ char *volume = NULL;
        const char *operation;

        if (!front)
                return strdup("a process of the worker, from before selvold was restarted, is in front");
        operation = operation_to_string(front->operation);
        if (streq_ptr(front->request.volume, job->request.volume))
                return strdup_printf("its %s (job %" PRIu64 "%s) is in front", operation, front->id, progress);
        volume = string_escape(strempty(front->request.volume), 200);
        return volume ? strdup_printf("%s of %s%s (job %" PRIu64 "%s) is in front", operation,
                                      isempty(volume) || job_is_of_path(front) ? "" : "volume ", volume, front->id,
                                      progress)
                      : NULL;
}

void queue_log_long_wait(Job *job) {
        const Job *front;
        _cleanup_free_ char *why = NULL;

        if (!job_is_waiting(job) || queue_waits_for_conflict(job) || !wait_is_long(job))
                return;
        front = find_job_in_front(job);
        /* The job only waits for a place to run: one becomes free soon, and nobody has to act. */
        if (!front && !claims_find_blocker(&job->claims))
                return;
        why = describe_front(job, front, "");
        if (why)
                job_log_waiting(job, why);
}

void queue_show(Job *job) {
        if (!wait_is_long(job))
                return;
        job_show(job);
        if (queue_waits_for_conflict(job))
                job_log_waiting(job, strempty(job->failure.message));
        else if (job->notice_usec == UINT64_MAX) {
                job->notice_usec = now_monotonic_usec() + USEC_PER_SEC;
                job_set_timer(job);
        }
}

void queue_fail_busy(Job *job) {
        Job *front = find_job_in_front(job);
        _cleanup_free_ char *why = NULL;
        char percent[48] = "";

        if (!front) {
                job_fail(
                        job,
                        failure_set(
                                &job->failure, FAILURE_BUSY,
                                "Volume %s has to wait: too many jobs run, of this caller, of this source or in all. Try again later.",
                                job->request.volume));
                return;
        }
        /* The caller may then look up the blocking job and cancel it. */
        if (!job_has_ended(front))
                job_show(front);
        if (front->progress.total > 0 && front->progress.counts.done <= front->progress.total)
                (void) snprintf(percent, sizeof(percent), ", %llu %% done",
                                (unsigned long long) (front->progress.counts.done * 100 / front->progress.total));
        why = describe_front(job, front, percent);
        job_fail(
                job,
                why ? failure_set(&job->failure, FAILURE_BUSY,
                                  "Volume %s is busy: %s. Try again later, or stop that job (selvolctl cancel %llu).",
                                  job->request.volume, why, (unsigned long long) front->id)
                    : -ENOMEM);
}

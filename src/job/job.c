/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "basic/time-util.h"
#include "job/job.h"
#include "plan/plan-files.h"
#include "wire/peer.h"

Volume *job_volume(const Job *job) {
        return volumes_find(&job->jobs->state->volumes, job->request.volume);
}

bool job_is_of_path(const Job *job) {
        return job->operation == OPERATION_VERIFY && streq_ptr(job->request.volume, job->request.target);
}

CallOrigin job_origin(const Job *job) {
        return (CallOrigin){
                .volume = job->request.volume,
                .source = job->source,
                .job = job->id,
                .settings = job->jobs->state->settings.digest,
                .by_root = job->request.by_root,
        };
}

bool job_has_failed(const Job *job) {
        return job->failure.kind != FAILURE_NONE;
}

bool job_is_abandoned(const Job *job) {
        return job->n_waiters + job->n_followers == 0;
}

bool job_is_waiting(const Job *job) {
        return job->state <= JOB_LEAVING;
}

bool job_has_outcome(const Job *job) {
        return job->state >= JOB_COMMITTING;
}

bool job_has_ended(const Job *job) {
        return job->state >= JOB_ENDED;
}

bool job_is_over(const Job *job) {
        return job->state == JOB_OVER;
}

const Volume *job_find_sharer(const Job *job) {
        const Volumes *all = &job->jobs->state->volumes;
        const Volume *v = job_volume(job);
        const Holder *h = v && job->request.target ? volume_find_holder(v, job->request.target) : NULL;

        return h ? volumes_find_sharer(all, v, h) : NULL;
}

const Job *job_find_on_volume(const Jobs *jobs, const char *volume) {
        const Job *job;

        DL_FOREACH (jobs->list, job)
                if (operation_type(job->operation)->changes && !job_has_ended(job) &&
                    streq(job->request.volume, volume))
                        return job;
        return NULL;
}

void caller_done(Caller *c) {
        free(c->text);
        free(c->name);
        *c = (Caller){ 0 };
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;
        DL_DELETE(job->jobs->list, job);
        claims_leave(&job->jobs->state->claims, &job->claims);
        sd_event_source_disable_unref(job->timer);
        sd_bus_slot_unref(job->call);
        sd_bus_message_unref(job->question);
        peer_disconnect(job->worker);
        request_done(&job->request);
        caller_done(&job->caller);
        free(job->source);
        free(job->waiters);
        free(job->followers);
        plan_done(&job->plan);
        free(job->share_target);
        observed_done(&job->observed);
        mount_identity_done(&job->identity);
        failure_done(&job->failure);
        failure_done(&job->refusal);
        if (job->operation == OPERATION_VERIFY) {
                verify_call_done(&job->verify.call);
                verify_result_done(&job->verify.result);
                free(job->verify.text);
        } else if (job->operation == OPERATION_UNMOUNT)
                free(job->unmount.still_open);
        else
                operation_result_done(&job->result);
        free(job->waits_for);
        free(job);
        return NULL;
}

const OperationType *operation_type(Operation operation) {
        static const OperationType *const types[OPERATIONS] = {
                [OPERATION_MOUNT] = &mount_operation,         [OPERATION_PLAN] = &plan_operation,
                [OPERATION_ADOPT] = &adopt_operation,         [OPERATION_UNMOUNT] = &unmount_operation,
                [OPERATION_VERIFY] = &verify_operation,       [OPERATION_RELABEL] = &relabel_operation,
                [OPERATION_OWNERSHIP] = &ownership_operation,
        };

        return types[operation];
}

const char *operation_to_string(Operation operation) {
        return operation_type(operation)->name;
}

#define STEP(state) (1U << (state))

/* When selvold stops, a job in any state is over at once. */
static const unsigned transitions[JOB_STATES] = {
        [JOB_QUEUED] = STEP(JOB_RUNNING) | STEP(JOB_COMMITTING),
        [JOB_PARKED] = STEP(JOB_QUEUED) | STEP(JOB_COMMITTING),
        [JOB_LEAVING] = STEP(JOB_QUEUED) | STEP(JOB_PARKED) | STEP(JOB_STOPPING),
        [JOB_RUNNING] =
                STEP(JOB_LEAVING) | STEP(JOB_ACTING) | STEP(JOB_STOPPING) | STEP(JOB_SETTLING) | STEP(JOB_COMMITTING),
        [JOB_ACTING] = STEP(JOB_STOPPING) | STEP(JOB_SETTLING) | STEP(JOB_COMMITTING),
        [JOB_STOPPING] = STEP(JOB_SETTLING) | STEP(JOB_COMMITTING),
        [JOB_SETTLING] = STEP(JOB_COMMITTING),
        [JOB_COMMITTING] = STEP(JOB_ENDED) | STEP(JOB_OVER),
        [JOB_ENDED] = STEP(JOB_OVER),
};

void job_set_state(Job *job, JobState state) {
        const char *before = job_state_word(job);

        assert(state == JOB_OVER || (transitions[job->state] & STEP(state)));
        job->state = state;
        /* The event for the end follows after the replies to the callers. */
        if (job->shown && !job_has_ended(job) && !streq(before, job_state_word(job)))
                event_emit(job->jobs->state, job_changed, job);
}

const char *job_state_word(const Job *job) {
        switch (job->state) {
        case JOB_QUEUED:
        case JOB_PARKED:
        case JOB_LEAVING:
                return "waiting";
        case JOB_RUNNING:
                return "running";
        case JOB_ACTING:
                return "acting";
        case JOB_STOPPING:
        case JOB_SETTLING:
                return "settling";
        case JOB_COMMITTING:
                return job_has_failed(job) ? "settling" : job->operation == OPERATION_UNMOUNT ? "acting" : "running";
        default:
                return "ended";
        }
}

void job_show(Job *job) {
        if (job->shown)
                return;
        job->shown = true;
        event_emit(job->jobs->state, job_added, job);
}

uint64_t job_timeout_usec(const Job *job) {
        return job->request.timeout_usec > 0 ? job->request.timeout_usec
                                             : job->jobs->state->settings.job_timeout_usec;
}

void job_set_timer(Job *job) {
        uint64_t next = job->deadline_usec < job->notice_usec ? job->deadline_usec : job->notice_usec;

        (void) sd_event_source_set_time(job->timer, next);
        (void) sd_event_source_set_enabled(job->timer, next == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

void job_set_deadline(Job *job, uint64_t usec) {
        job->deadline_usec = now_monotonic_usec() + usec;
        job_set_timer(job);
}

/* The caller has to know that the target is not as it was, for each reason to fail. */
static void tell_replaced(Job *job) {
        const char *text =
                !job->replaced ? " The mount that another program made at the target may be unmounted."
                : job->identity.id != 0
                        ? " The mount that another program made at the target is unmounted."
                        : " The mount that another program made at the target is unmounted, so the target is empty now.";
        char *told;

        if (!job->replacing || !job->failure.message || strstr(job->failure.message, text))
                return;
        told = strdup_printf("%s%s", job->failure.message, text);
        if (!told)
                return;
        free(job->failure.message);
        job->failure.message = told;
}

void job_fail(Job *job, int r) {
        /* LIMIT_REACHED says that nothing was done. */
        const bool begun = job->walk_asked || job->state == JOB_ACTING;
        FailureKind kind = r == -ENOMEM && !begun ? FAILURE_LIMIT_REACHED : FAILURE_WORKER_FAILED;
        const char *text;

        if (job_has_failed(job))
                tell_replaced(job);
        if (job_has_failed(job) || r >= 0)
                return;
        /* sd-bus returns -ENXIO or -EBUSY for a message with other types than expected. */
        text = r == -EBADMSG || r == -ENXIO || r == -EBUSY
                       ? "The worker's message could not be parsed: are selvold and selvol-worker of the same version? To restart both: systemctl restart selvol-worker.socket selvol-worker selvold"
               : r == -ENOMEM && begun
                       ? "selvold ran out of memory when the operation had begun. Free memory on the node, then call again."
                       : strerror(-r);
        if (failure_set(&job->failure, kind, "%s", text) < 0)
                job->failure = (Failure){ .kind = kind, .message = NULL };
        tell_replaced(job);
}

const char *job_result(const Job *job) {
        if (!job_has_ended(job))
                return "";
        return job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "done";
}

const OperationResult *job_operation_result(const Job *job) {
        static const OperationResult none = { .files = { .gid = GID_NONE, .disk_gid = GID_NONE } };

        return job->operation == OPERATION_VERIFY || job->operation == OPERATION_UNMOUNT ? &none : &job->result;
}

const char *job_context(const Job *job) {
        return strempty(job->operation == OPERATION_VERIFY ? job->verify.call.expected : job->plan.context);
}

/* The progress of a walk, as reported by the worker. selvold checks it: the worker is another process, and
 * reads data that others have written. */

/* More than the entries of any file system, and few enough that no product below overflows. */
#define COUNT_MAX UINT64_C(10000000000000)

/* The counts are no snapshot, and an entry that others keep changing is changed more than once. So no count
 * limits another, but no count decreases. */
static bool counts_are_possible(const WalkCounts *before, const WalkCounts *c) {
        const uint64_t now[] = {
                c->done, c->changed, c->mismatched, c->misowned, c->failed, c->skipped, c->modified
        };
        const uint64_t then[] = { before->done,   before->changed, before->mismatched, before->misowned,
                                  before->failed, before->skipped, before->modified };

        for (size_t i = 0; i < ELEMENTSOF(now); i++)
                if (now[i] > COUNT_MAX || now[i] < then[i])
                        return false;
        return true;
}

static void progress_measure(Progress *p, uint64_t now) {
        uint64_t done = p->counts.done, elapsed = now - p->started_usec;

        p->entries_per_sec = elapsed > 0 ? done * USEC_PER_SEC / elapsed : 0;
        p->expected_end_usec = 0;
        if (p->total > done && p->entries_per_sec > 0)
                p->expected_end_usec = now_realtime_usec() + (p->total - done) * USEC_PER_SEC / p->entries_per_sec;
}

int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) {
        uint64_t now = now_monotonic_usec();

        if (!counts_are_possible(&p->counts, counts) || total > COUNT_MAX)
                return -EBADMSG;
        if (p->started_usec == 0)
                p->started_usec = now;
        p->counts = *counts;
        if (total > 0)
                p->total = total;
        /* The total is estimated from inodes, and a file system may have more names. Then the total is
         * unknown. */
        if (p->total < counts->done)
                p->total = 0;
        progress_measure(p, now);
        return 0;
}

ProgressNews progress_next_news(Progress *p, uint64_t now) {
        const uint64_t start = USEC_PER_SEC, first = 10 * USEC_PER_SEC, longest = 600 * USEC_PER_SEC;
        uint64_t elapsed = now - p->started_usec;

        if (p->next_told_usec == 0) {
                if (elapsed < start)
                        return PROGRESS_NO_NEWS;
                p->next_told_usec = elapsed < first ? p->started_usec + first : now + elapsed;
                return PROGRESS_STARTED;
        }
        if (now < p->next_told_usec)
                return PROGRESS_NO_NEWS;
        p->next_told_usec = now + (elapsed < longest ? elapsed : longest);
        return PROGRESS_GOES_ON;
}

int progress_end(Progress *p, const WalkCounts *counts) {
        uint64_t now = now_monotonic_usec();

        if (!counts_are_possible(&p->counts, counts))
                return -EBADMSG;
        if (p->started_usec == 0)
                p->started_usec = now;
        p->duration_usec = now - p->started_usec;
        p->counts = *counts;
        p->total = counts->done;
        progress_measure(p, now);
        return 0;
}

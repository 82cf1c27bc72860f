/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "basic/time-util.h"
#include "job/job.h"

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

/* When selvold stops, a job is over at once, whatever its state. */
static const unsigned steps[JOB_STATES] = {
        [JOB_IN_LINE] = STEP(JOB_RUNNING) | STEP(JOB_COMMITTING),
        [JOB_PARKED] = STEP(JOB_IN_LINE) | STEP(JOB_COMMITTING),
        [JOB_LEAVING] = STEP(JOB_IN_LINE) | STEP(JOB_PARKED) | STEP(JOB_STOPPING),
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

        assert(state == JOB_OVER || (steps[job->state] & STEP(state)));
        job->state = state;
        /* The end is told of once the callers are answered. */
        if (job->shown && !job_has_ended(job) && !streq(before, job_state_word(job)))
                event_emit(job->jobs->state, job_changed, job);
}

const char *job_state_word(const Job *job) {
        switch (job->state) {
        case JOB_IN_LINE:
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

void job_fail(Job *job, int r) {
        FailureKind kind = r == -ENOMEM ? FAILURE_LIMIT_REACHED : FAILURE_WORKER_FAILED;
        const char *text;

        if (job_has_failed(job) || r >= 0)
                return;
        /* What sd-bus says of a message with other types than expected is -ENXIO or -EBUSY. */
        text = r == -EBADMSG || r == -ENXIO || r == -EBUSY
                       ? "The worker's message could not be parsed: are selvold and selvol-worker of the same version? To restart both: systemctl restart selvol-worker.socket selvol-worker selvold"
                       : strerror(-r);
        if (failure_set(&job->failure, kind, "%s", text) < 0)
                job->failure = (Failure){ .kind = kind, .message = NULL };
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

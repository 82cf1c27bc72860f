/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "job/job.h"

static const char *const operation_table[OPERATIONS] = {
        [OPERATION_MOUNT] = "mount",         [OPERATION_PLAN] = "plan",     [OPERATION_ADOPT] = "adopt",
        [OPERATION_UNMOUNT] = "unmount",     [OPERATION_VERIFY] = "verify", [OPERATION_RELABEL] = "relabel",
        [OPERATION_OWNERSHIP] = "ownership",
};
DEFINE_STRING_TABLE(operation, Operation);

static const char *const job_state_table[JOB_STATES] = {
        [JOB_WAITING] = "waiting",   [JOB_RUNNING] = "running", [JOB_ACTING] = "acting",
        [JOB_SETTLING] = "settling", [JOB_ENDED] = "ended",
};
DEFINE_STRING_TABLE(job_state, JobState);

bool operation_changes(Operation operation) {
        return operation != OPERATION_PLAN && operation != OPERATION_VERIFY;
}

bool operation_is_answered_early(Operation operation) {
        return operation == OPERATION_RELABEL || operation == OPERATION_OWNERSHIP;
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
        if (job->state != JOB_ENDED)
                return "";
        return job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "done";
}

const char *job_context(const Job *job) {
        return strempty(job->operation == OPERATION_VERIFY ? job->verify.expected : job->plan.context);
}

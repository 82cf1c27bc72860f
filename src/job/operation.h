/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* What the operations differ in, one file for each. All return 0, a negative errno, or a failure kind with job->failure
 * set. */
typedef struct OperationType {
        const char *name;              /* on the bus, and in the journal */
        const char *verb;              /* of a sentence that says what was asked for */
        const char *done_message;      /* MESSAGE_ID of its success; NULL: it has none */
        const char *storage_operation; /* as kubelet's metrics name it; NULL: it is none */
        bool changes;                  /* something: then it claims its volume and its target */
        bool answered_early;           /* when its walk begins */
        /* Before a child is started: whether it makes sense, by the record, and the intent of what needs no plan. */
        int (*check)(Job *job);
        /* The worker's method, and its argument. */
        const char *method;
        int (*append)(const Job *job, sd_bus_message *call);
        /* What to do with what the child saw, and the intent in the record; NULL for an operation without questions. An
         * answer that isn't PLAN_GO is left to the caller, but PLAN_STOP where a plan was all that was asked for. */
        int (*plan)(Job *job, const PlanQuestion *q, PlanAnswer *ret);
        /* What was made, before it is seen. */
        int (*ready)(Job *job, const ReadyNote *note);
        /* What was done: checked, and into the record. */
        int (*take)(Job *job, sd_bus_message *reply);
        /* Nothing came of it, or nothing is left of it: the record is as if it had not been. NULL: it is in any case. */
        void (*revert)(Job *job);
} OperationType;

const OperationType *operation_type(Operation operation);
const char *operation_to_string(Operation operation);

extern const OperationType mount_operation, plan_operation, adopt_operation, unmount_operation, verify_operation,
        relabel_operation, ownership_operation;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"
#include "daemon/manager.h"

typedef enum Operation {
        OPERATION_MOUNT,
        OPERATION_PLAN,
        OPERATION_ADOPT,
        OPERATION_UNMOUNT,
        OPERATION_VERIFY,
        OPERATIONS,
} Operation;
DECLARE_STRING_TABLE(operation, Operation);

/* One operation on one volume: a connection to the worker, the calls that wait for its end, and what was found out on
 * the way. Each operation is a chain of steps in a file of its own (job-mount.c and so on); each step either makes
 * the next worker call, waits for a commit, or concludes. */

/* Called with the worker's reply, or, when that is NULL, with job->failure set. */
typedef void (*JobStep)(Job *job, sd_bus_message *reply);

/* What a volume's record said before the job changed it, to be put back if nothing came of it. */
typedef struct SavedVolume {
        bool existed;
        bool tainted;
        Strategy strategy;
        char *source, *fs_type, *driver, *volume_type, *context;
        AccessMode access_mode;
} SavedVolume;

struct Job {
        Job *prev, *next;
        Manager *manager;
        Operation operation;
        Request request;
        char *expected;         /* verify: the context */
        sd_bus_message **calls; /* that this job answers */
        size_t n_calls;
        char *caller;
        uint64_t started_usec; /* monotonic */

        sd_bus *worker;
        sd_bus_slot *slot;
        sd_event_source *deadline;
        JobStep step;
        bool timed_out;
        bool answered;
        bool concluded;

        Failure failure; /* what went wrong, if anything */
        Observed observed;
        MountOutcome outcome;
        Plan plan; /* without plan.share, which belongs to the record: */
        char *share_target;
        uint64_t share_mount_id;
        Failure refusal; /* plan: why a mount would be refused */
        SavedVolume saved;
        bool acting;    /* the worker may have changed something */
        bool settling;  /* and is being asked what is left of it */
        bool repeated;  /* a mount that was done before: no new decision */
        bool unmounted; /* unmount: there was a mount */
        char *holder;   /* likewise: who held it */
        bool matches;   /* verify */
        char *actual;   /* likewise */
};

/* Starts a job for a call that has been authorised, or lets it join the one that does just this. The request (and
 * expected, for a verify) is taken over. Returns 0; -ENOMEM; or BUSY, LIMIT_REACHED, STORE_FAILED. */
int job_start(Manager *m, sd_bus_message *call, Operation operation, Request *request, const char *expected,
              Failure *f);

/* For the operations' files: */

/* Calls the worker, over the job's connection or a new one, and continues with step. */
void job_call_worker(Job *job, JobStep step, const char *member, const char *types, ...);
int job_new_worker_call(Job *job, const char *member, sd_bus_message **ret);
void job_send_worker_call(Job *job, JobStep step, sd_bus_message *call);
/* Continues with callback(job) when what was recorded is durable; with job->failure set to STORE_FAILED if it isn't.
 */
void job_then(Job *job, void (*callback)(Job *job));
/* Sets the failure from a negative errno of ours: out of memory, a worker that broke the protocol. */
void job_fail(Job *job, int error);
/* Gives the job, which has failed, a connection and a deadline of its own to clean up after the worker. */
void job_begin_settling(Job *job);
/* Ends the job: logs, counts, adds to the history, and answers once all of that is durable. */
void job_conclude(Job *job);

void job_mount_begin(Job *job);
int job_mount_append(Job *job, sd_bus_message *reply);
int job_plan_append(Job *job, sd_bus_message *reply);
void job_adopt_begin(Job *job);
void job_unmount_begin(Job *job);
int job_unmount_append(Job *job, sd_bus_message *reply);
void job_verify_begin(Job *job);
int job_verify_append(Job *job, sd_bus_message *reply);

/* What mount and adopt share. */

/* Whether the volume can have a holder at the target. Returns 0 with the holder that is there, of this volume, or
 * NULL; -ENOMEM; INVALID_TARGET if another volume is held there; LIMIT_REACHED. */
int job_check_target(Job *job, Holder **ret);
/* Takes over what Observe says. False, with job->failure set, if it says nothing, or nothing that makes sense. */
bool job_take_observed(Job *job, sd_bus_message *reply);
/* Makes the plan from what was observed; -1, 0, 1 as in PlanInput. False, with job->failure set, if there is none. */
bool job_make_plan(Job *job, int seclabel, const MountFact *mounted);
/* Records the volume and a holder as the plan has it, in the given state. Returns the holder, NULL with the failure.
 */
Holder *job_record_holder(Job *job, HolderState state, bool adopted);
/* Takes the recorded holder back, and the volume too if the job made it. */
void job_revert_holder(Job *job);
/* Notes the outcome of a mount in the record. */
void job_record_outcome(Job *job, Holder *h);

void jobs_teardown(Manager *m);
/* Whether a job is at work on the volume that may change its mounts. */
bool job_is_running_on(const Manager *m, const char *volume);
/* The same of a target. */
bool job_is_running_at(const Manager *m, const char *target);

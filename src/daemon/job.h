/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"
#include "plan/relabel.h"
#include "daemon/bus-request.h"
#include "daemon/manager.h"
#include "daemon/worker-client.h"

typedef enum Operation {
        OPERATION_MOUNT,
        OPERATION_PLAN,
        OPERATION_ADOPT,
        OPERATION_UNMOUNT,
        OPERATION_VERIFY,
        OPERATION_RELABEL,
        OPERATION_CHGRP,
        OPERATIONS,
} Operation;
DECLARE_STRING_TABLE(operation, Operation);

/* One operation on one volume: a connection to the worker, the calls that wait for its end, and what was found out on
 * the way. Each operation is a chain of steps in a file of its own (job-mount.c and so on); each step either makes
 * the next worker call, waits for a commit, or concludes. */

/* Called with the worker's reply, or, when that is NULL, with job->failure set. */
typedef void (*JobStep)(Job *job, sd_bus_message *reply);
/* Called with job->failure set or not. */
typedef void (*JobCallback)(Job *job);

/* What a volume's record said before the job changed it, to be put back if nothing came of it. */
typedef struct SavedVolume {
        bool existed;
        Strategy strategy;
        bool mounted_here;
        char **mount_options;
        char *source, *fs_type, *driver, *volume_type, *context;
        AccessMode access_mode;
        VolumeRecord record;
} SavedVolume;

/* What has become of a relabel by the service. */
typedef enum Relabelled {
        RELABELLED_NOT, /* there was none */
        RELABELLED_WALKED,
        RELABELLED_SKIPPED, /* it was known that there is nothing to do */
        RELABELLED_VALUES,
} Relabelled;
DECLARE_STRING_TABLE(relabelled, Relabelled);

/* A walk over all files of a volume, to change or to verify them, or what is done instead. */
typedef struct Walk {
        Relabelled relabelled;
        RelabelReason reason; /* unless RELABELLED_NOT */
        OwnershipDecision ownership;
        gid_t gid;      /* with OWNERSHIP_MAP and WALK: the group that a walk gives to files, as the mount shows it */
        gid_t disk_gid; /* likewise: the one that they have on disk, or get */
        char *why;      /* of the ownership: what the worker said; may be NULL */
        bool labels;    /* it changes labels */
        bool groups;    /* it changes groups */
        bool complete;  /* it went over all files that it may touch, and all went well */
        bool blind;
        const char *target;         /* of the mount that is walked, "" for the staged one; only to begin with */
        uint64_t generation;        /* of the volume's record, likewise */
        uint64_t started_usec;      /* monotonic; 0: it hasn't */
        uint64_t duration_usec;     /* when it has ended */
        uint64_t total;             /* estimated; 0: unknown */
        uint64_t entries_per_sec;   /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
        WalkResult result;          /* while it runs, only the counts */
        char *text;                 /* verify: the result in a sentence */
        JobCallback done;
} Walk;

struct Job {
        Job *prev, *next;
        Manager *manager;
        JobObject *object; /* NULL for what only looks */
        Operation operation;
        gid_t expected_gid; /* verify: the group, found out; GID_NONE: groups don't matter */
        char *expected;     /* likewise: the context */
        Request request;
        VerifyOptions verify;
        sd_bus_message **calls; /* that this job answers */
        size_t n_calls;
        char *caller;
        uint64_t started_usec; /* monotonic */

        sd_bus *worker;
        sd_bus_slot *slot;
        sd_bus_slot *progress; /* while it walks */
        sd_event_source *deadline;
        JobStep step;
        bool stopped; /* timed out or cancelled: the connection is half-closed, and the failure is known */
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
        Walk walk;
        gid_t share_disk_gid;       /* of a mount that shows the plan's group in its place; otherwise GID_NONE */
        RecordEffect verify_effect; /* verify: of what was found on the record */
        bool acting;                /* the worker may have changed something */
        bool settling;              /* and is being asked what is left of it */
        bool intended;              /* adopt: the holder is recorded, as an intent */
        RecordFound found;          /* adopt: what the volume carries */
        char *found_text;
        bool looked;    /* the volume's own account of its labels has been taken over */
        bool staged;    /* mount: in two halves, and the files are looked at between */
        bool repeated;  /* a mount that was done before: no new decision */
        bool unmounted; /* unmount: there was a mount */
        char *holder;   /* likewise: who held it */
        bool waiting;   /* likewise: until those that were cancelled for it have ended */
};

/* Starts a job for a call that has been authorised, or lets it join the one that does just this. The request is taken
 * over; for a verify and a Relabel its context is the one expected or wanted, "" for the recorded one, for an
 * ApplyOwnership its group the one wanted; verify is NULL
 * for all others. Returns 0; -ENOMEM; or BUSY, LIMIT_REACHED, STORE_FAILED. */
int job_start(Manager *m, sd_bus_message *call, Operation operation, Request *request, const VerifyOptions *verify,
              Failure *f);
/* Has it ended as soon as possible, with the result CANCELED. */
void job_cancel(Job *job);

void jobs_teardown(Manager *m);
/* Whether a job is at work on the volume that may change its mounts. */
bool job_is_running_on(const Manager *m, const char *volume);
/* The same of a target. */
bool job_is_running_at(const Manager *m, const char *target);

/* For the operations' files: */

/* Sets the failure from a negative errno of ours: out of memory, a worker that broke the protocol. */
void job_fail(Job *job, int error);
/* Continues with callback(job) when what was recorded is durable; with job->failure set to STORE_FAILED if it isn't.
 */
void job_then(Job *job, JobCallback callback);
/* Answers those who wait for it so far. */
void job_answer(Job *job);
/* Ends the job: logs, counts, adds to the history, and answers once all of that is durable. */
void job_conclude(Job *job);
/* The volume of the job; NULL if it isn't recorded. */
Volume *job_volume(const Job *job);

/* job-worker.c: the connection to the worker, and the time a job has. */

/* Calls the worker, over the job's connection or a new one, and continues with step. */
void job_call_worker(Job *job, JobStep step, const char *member, const char *types, ...);
int job_new_worker_call(Job *job, const char *member, sd_bus_message **ret);
void job_send_worker_call(Job *job, JobStep step, sd_bus_message *call);
/* The same for a call that walks: its progress is followed, and gives it more time. */
void job_send_walk_call(Job *job, JobStep step, sd_bus_message *call);
/* How long the job may take, from now on. Returns 0 or a negative errno. */
int job_set_deadline(Job *job, uint64_t usec);
/* Gives the job, which has failed, a connection and a deadline of its own to clean up after the worker. */
void job_begin_settling(Job *job);

/* The operations: */

void job_mount_begin(Job *job);
int job_mount_append(Job *job, sd_bus_message *reply);
int job_plan_append(Job *job, sd_bus_message *reply);
void job_adopt_begin(Job *job);
void job_unmount_begin(Job *job);
/* Whether one that it has cancelled is still there; what to do when none is. */
bool job_unmount_must_wait(const Job *job);
void job_unmount_resume(Job *job);
int job_unmount_append(Job *job, sd_bus_message *reply);
void job_verify_begin(Job *job);
int job_verify_append(Job *job, sd_bus_message *reply);
/* Also ApplyOwnership: */
void job_change_begin(Job *job);
int job_change_append(Job *job, sd_bus_message *reply);

/* job-holder.c: what mount and adopt share. */

/* Whether the volume can have a holder at the target. Returns 0 with the holder that is there, of this volume, or
 * NULL; -ENOMEM; INVALID_TARGET if another volume is held there; LIMIT_REACHED. */
int job_check_target(Job *job, Holder **ret);
/* Takes over what Observe says. False, with job->failure set, if it says nothing, or nothing that makes sense. */
bool job_take_observed(Job *job, sd_bus_message *reply);
/* Copies what is needed of the plan's holder to share with: it may go while the job waits. Returns 0 or -ENOMEM. */
int job_keep_share(Job *job);
/* Appends what Mount and Stage have in common. */
int job_append_mount(Job *job, sd_bus_message *call);
/* Makes the plan from what was observed; -1, 0, 1 as in PlanInput. False, with job->failure set, if there is none. */
bool job_make_plan(Job *job, int seclabel, const MountFact *mounted);
/* Records the volume and a holder as the plan has it, in the given state, and what the plan does to what is known of
 * the labels. Returns the holder, NULL with the failure. */
Holder *job_record_holder(Job *job, HolderState state, bool adopted);
/* Takes the recorded holder back, and the volume too if the job made it and nothing was learnt of it. */
void job_revert_holder(Job *job);
/* The group that files have, or get, on disk where they have the plan's to the holder. */
gid_t job_disk_gid(const Job *job);
/* Notes both: before anyone sees the mount, as it would be taken for one that swaps nothing otherwise. */
void job_note_group(const Job *job, Holder *h);
/* Notes the outcome of a mount in the record. */
void job_record_outcome(Job *job, Holder *h);

/* job-record.c: what is known of a volume's files. */

/* What the mount still does to it: a walk over labels has taken the plan's effect into account. */
RecordEffect job_effect(const Job *job);
/* Notes that, if it has not been noted. */
void job_apply_effect(Job *job);
/* Reads what the volume carries and brings the store in line with it. Returns 0, a negative errno. */
int job_take_record(Job *job, sd_bus_message *reply);
int job_take_record_text(Job *job, RecordFound found, const char *text);
/* Before and after a walk. After it the volume's record is as far as the worker could take it, and newer than ours,
 * or ours still: it is taken over, and what others do is applied. A volume that keeps none has ours only. Both return
 * 0 or a negative errno. */
int job_begin_record(Job *job);
int job_finish_record(Job *job, RecordFound found, const char *text);

/* job-files.c: what is done to them. */

/* Whether the plan has a group for them, so that a walk, or a swap, may be needed. */
static inline bool job_gives_group(const Job *job) {
        return job->plan.ownership == OWNERSHIP_WALK || job->plan.ownership == OWNERSHIP_MAP;
}

/* After job_take_record(), and with job->outcome of the mount at target ("": the one that is staged): gives all files
 * the plan's context and group, as far as it isn't known that they have them, by a walk, or, of a group, by idmapping
 * what is staged. Not if another job has the file system (BUSY), or a holder the files in another group
 * (GROUP_CONFLICT). Continues with done, job->walk says which it was. The record says partial, durably, before the
 * worker is called, and when done is, not yet durably, what the volume says: complete, with the plan's effect applied
 * to labels that were walked over, or partial still if entries had to be left alone. */
void job_change_files(Job *job, const char *target, JobCallback done);
/* Whether another job walks over the same file system: BUSY; 0; -ENOMEM. */
int job_check_walks(Job *job);
/* As job_change_files(), decided from the record alone, for a plan. Returns 0, -ENOMEM, GROUP_CONFLICT. */
int job_foretell_change(Job *job);

/* Checks what the worker says of a walk that runs (or, total being NULL, has ended) and takes it over. Returns
 * 0, or -EBADMSG if that can't be. */
int walk_take_counts(Walk *w, const WalkCounts *counts, const uint64_t *total);
/* Checks and takes over what it says in the end. Returns 0 or -EBADMSG. */
int walk_take_result(Walk *w, WalkResult *result);
void walk_done(Walk *w);

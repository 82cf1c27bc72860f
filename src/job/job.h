/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "plan/plan.h"
#include "state/state.h"
#include "wire/messages.h"

/* A job is one operation on one volume that waits, runs, or has ended. The worker's child runs the operation;
 * the job holds its claims, answers the child's questions, keeps the record, and knows the
 * callers that wait. */

typedef enum Operation {
        OPERATION_MOUNT,
        OPERATION_PLAN,
        OPERATION_ADOPT,
        OPERATION_UNMOUNT,
        OPERATION_VERIFY,
        OPERATION_RELABEL,
        OPERATION_OWNERSHIP,
        OPERATIONS,
} Operation;

/* job.c lists the allowed steps between these states, HACKING.md has a diagram. */
typedef enum JobState {
        JOB_QUEUED,     /* waits for its claims, or for a place to run; no child */
        JOB_PARKED,     /* waits (WaitUSec) for a conflict that its plan names; no child */
        JOB_LEAVING,    /* has to wait for a claim or a conflict; its child has not exited yet */
        JOB_RUNNING,    /* its child runs, or is about to start, and has changed no visible mount */
        JOB_ACTING,     /* its mount may be published, or unmounted */
        JOB_STOPPING,   /* has failed; its child is being ended */
        JOB_SETTLING,   /* another child unmounts the mount that a lost child may have published */
        JOB_COMMITTING, /* its outcome is known and is being committed */
        JOB_ENDED,      /* its callers have their replies; its child has not exited yet */
        JOB_OVER,
        JOB_STATES,
} JobState;

/* The place where a job with a child, or with a record that is being written, may hang. */
typedef enum JobAt {
        AT_WORKER,  /* the child has said nothing yet */
        AT_LOOK,    /* the child looks at source and target */
        AT_STAGE,   /* Plan is answered */
        AT_FILES,   /* Walk is answered */
        AT_PUBLISH, /* Ready is answered */
        AT_UNMOUNT, /* the child calls umount2(2) */
        AT_STATE,   /* the disk of the state */
        AT_WORDS,
} JobAt;

/* The sender of a call. */
typedef struct Caller {
        char *text; /* for the journal */
        char *name; /* limits count by it: a user, or one connection of root */
        uid_t uid;
        bool trusted; /* root, for whom some places are reserved */
} Caller;

/* Called once for each call that waits for the job, when the reply is known. */
typedef void (*JobReply)(const Job *job, void *userdata);

typedef struct JobWaiter {
        JobReply reply;
        void *userdata;
        uid_t uid;
} JobWaiter;

/* The progress of a walk. */
typedef struct Progress {
        WalkCounts counts;
        uint64_t started_usec;      /* monotonic; 0: there was no walk */
        uint64_t duration_usec;     /* 0 until the walk has ended */
        uint64_t total;             /* estimated; 0: unknown */
        uint64_t entries_per_sec;   /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
        uint64_t next_told_usec;    /* monotonic; time of the next journal entry */
} Progress;

typedef enum ProgressNews { PROGRESS_NO_NEWS, PROGRESS_STARTED, PROGRESS_GOES_ON } ProgressNews;

typedef struct Verification {
        VerifyCall call; /* what the files are compared with */
        VerifyResult result;
        char *text; /* the result as a sentence */
} Verification;

typedef struct Unmounting {
        bool unmounted;   /* there was a mount */
        char *still_open; /* the device, "major:minor", in use after the last unmount; NULL: none */
} Unmounting;

typedef struct Jobs Jobs;

struct Job {
        Job *prev, *next;
        Jobs *jobs;
        uint64_t id;
        Operation operation;
        JobState state;
        Request request;
        size_t bytes; /* of the strings of the request */
        VerifyDepth depth;
        Caller caller;
        char *source;       /* server, directory or device that may hang: places_source(); NULL: none */
        Claimant claims;    /* volume, target, and the superblock once it is known */
        JobWaiter *waiters; /* calls that wait for the job's result */
        size_t n_waiters;
        JobWaiter *followers; /* calls of Job.Wait and Job.Cancel, which wait for its end */
        size_t n_followers;
        bool shown; /* is an object on the bus: it walks, or has waited */
        uint64_t started_usec, started_realtime_usec, ended_usec;
        uint64_t run_usec;      /* when it left the queue the last time; 0: it never did */
        sd_event_source *timer; /* for the earlier of: */
        uint64_t deadline_usec; /* monotonic; UINT64_MAX: none */
        uint64_t notice_usec;   /* time of the journal entry about a long wait */

        /* While there is a child: */
        sd_bus *worker;
        sd_bus_slot *call;
        sd_bus_message *question; /* the child's open question */
        uint64_t n_gone;          /* Jobs.n_gone when the child was called */
        JobAt at;
        uint64_t settings; /* digest of the configuration with which the child was called */

        Plan plan;
        char *share_target; /* target of plan.share, which may go */
        uint64_t share_id;
        Observed observed;
        MountIdentity identity; /* of the mount that may be published; id 0: none */
        bool intent_recorded;   /* this job, not a lost earlier one, set the holder's state "mounting" */
        bool replacing;         /* the mount that another program made at the target may be unmounted */
        bool replaced;          /* it is */
        bool walk_asked;        /* the child may have changed files */
        bool volume_is_new;     /* only this job needs the volume's record */
        bool unheard;           /* was canceled when nobody waited for it, by nobody who named it */
        Progress progress;

        Failure failure;
        Failure refusal; /* plan: why a mount would be refused */
        union {
                OperationResult result; /* mount, plan, adopt, relabel, ownership: job_operation_result() */
                Verification verify;
                Unmounting unmount;
        };
        char *waits_for; /* the reason that the journal has last */
};

struct Jobs {
        State *state;
        Job *list; /* in the order of arrival, with those that have ended */
        struct Orphan *orphans;
        sd_event_source *expiry;
        sd_event_source *advance; /* calls jobs_advance() once */
        uint64_t n_gone;          /* foreign mounts that have gone so far */
};

/* The volume of the job. NULL: the volume has no record. */
Volume *job_volume(const Job *job);

/* Another volume whose holders have the job's superblock mounted. NULL: none. */
const Volume *job_find_sharer(const Job *job);

/* A job that may change the volume and has not ended. NULL: none. */
const Job *job_find_on_volume(const Jobs *jobs, const char *volume);

/* A verification of a path has the path in place of the volume. */
bool job_is_of_path(const Job *job);

CallOrigin job_origin(const Job *job);

bool job_has_failed(const Job *job);

/* No caller waits for the job: nobody has asked for an answer, or all have left. */
bool job_is_abandoned(const Job *job);

/* Waits, or will wait as soon as its child is gone. */
bool job_is_waiting(const Job *job);

/* The outcome is known and final. */
bool job_has_outcome(const Job *job);

/* Its callers have their replies. */
bool job_has_ended(const Job *job);

/* Can be freed. */
bool job_is_over(const Job *job);

void caller_done(Caller *c);
/* Removes the job from the list and frees it. */
Job *job_free(Job *job);

/* Takes one of the allowed steps, and emits an event for a job that is an object on the bus. */
void job_set_state(Job *job, JobState state);
/* Makes the job an object on the bus. */
void job_show(Job *job);
/* The state on the bus: "waiting", "running", "acting", "settling", "ended". */
const char *job_state_word(const Job *job);

/* The time limit from the call, or the default. */
uint64_t job_timeout_usec(const Job *job);
/* Sets the deadline of the job, or of its wait, to usec from now. */
void job_set_deadline(Job *job, uint64_t usec);
/* Sets the timer to the earlier of deadline_usec and notice_usec. */
void job_set_timer(Job *job);

/* Sets the failure from a negative errno of selvold itself: out of memory, or a worker that broke the
 * protocol. 0 means success, a failure kind is set already, and an earlier failure stays. */
void job_fail(Job *job, int r);

/* "" before the end, then "done" or the failure's name. */
const char *job_result(const Job *job);
/* The result of an operation on files. Verify and unmount have an empty one. */
const OperationResult *job_operation_result(const Job *job);
/* The context of the job; "": none. */
const char *job_context(const Job *job);

/* Takes the counts of a running walk. total: 0 if unknown. Returns 0, or -EBADMSG if the counts are
 * impossible. */
int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) _warn_unused_;
/* Decides what the journal gets now: the start of a walk that has lasted a second, as most are shorter; then
 * its progress after 10 s, and again each time the duration has doubled, but at least every ten minutes. */
ProgressNews progress_next_news(Progress *p, uint64_t now);
/* Like progress_take(), for a walk that has ended. */
int progress_end(Progress *p, const WalkCounts *counts) _warn_unused_;

/* Operations differ in these functions; each operation has a file. All functions return 0, a negative errno,
 * or a failure kind with job->failure set. */
typedef struct OperationType {
        const char *name;              /* on the bus and in the journal */
        const char *verb;              /* for sentences about the request */
        const char *done_message;      /* MESSAGE_ID of success; NULL: none */
        const char *storage_operation; /* its name in kubelet's metrics; NULL: none */
        bool changes;                  /* claims its volume and its target */
        bool introduces;               /* makes the record of a volume that has none; a plan predicts that */
        bool answered_early;           /* the call gets its reply when the walk begins */
        /* Runs before a child is started. Refuses what the record rules out. Operations without a Plan
         * question add their intent here. */
        int (*check)(Job *job);
        /* The worker's method, and a function that appends its argument. */
        const char *method;
        int (*append)(const Job *job, sd_bus_message *call);
        /* Decides on the child's observations, and adds the intent; NULL for an operation without
         * questions. The caller handles a step other than PLAN_GO. */
        int (*plan)(Job *job, const PlanQuestion *q, PlanAnswer *ret);
        /* Records the mount that the child has made, before the mount is visible. */
        int (*ready)(Job *job, const ReadyQuestion *question);
        /* Checks the result and records it. */
        int (*take)(Job *job, sd_bus_message *reply);
        /* Undoes what was recorded, if the operation fails or has to wait. NULL: nothing to undo. */
        void (*revert)(Job *job);
} OperationType;

const OperationType *operation_type(Operation operation);
const char *operation_to_string(Operation operation);

extern const OperationType mount_operation, plan_operation, adopt_operation, unmount_operation, verify_operation,
        relabel_operation, ownership_operation;

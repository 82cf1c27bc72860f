/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "plan/plan.h"
#include "state/state.h"
#include "wire/messages.h"

/* One operation on one volume that waits, runs or has run. The worker's child runs it; here are its place
 * in line, the answers to the child's questions, the record of it, and those who wait for its end. */

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

/* The states; job.c has the steps between them, and HACKING.md the picture. */
typedef enum JobState {
        JOB_IN_LINE,    /* it waits for its claims, or for a place to run; there is no child */
        JOB_PARKED,     /* it waits for a conflict to end, which its plan names (WaitUSec); there is no child */
        JOB_LEAVING,    /* it was told to wait in line or for a conflict, and its child has yet to go */
        JOB_RUNNING,    /* a child is at work, or about to be, and has changed no mount that others see */
        JOB_ACTING,     /* the mount may be published, or gone */
        JOB_STOPPING,   /* it has failed, and its child is being ended */
        JOB_SETTLING,   /* its child was lost, and another one unmounts what that may have published */
        JOB_COMMITTING, /* its outcome is known, and is being made durable */
        JOB_ENDED,      /* its callers are answered, and its child has yet to go */
        JOB_OVER,
        JOB_STATES,
} JobState;

/* Who calls. */
typedef struct Caller {
        char *text; /* for the journal */
        char *name; /* of whom limits hold: a user, or a connection of root's */
        uid_t uid;
        bool trusted; /* root, for whom some places are reserved */
} Caller;

/* Called once for each who asked for the job: when there is an answer. */
typedef void (*JobReply)(const Job *job, void *userdata);

typedef struct JobWaiter {
        JobReply reply;
        void *userdata;
        uid_t uid;
} JobWaiter;

/* How far a walk has come. */
typedef struct Progress {
        WalkCounts counts;
        uint64_t started_usec;      /* monotonic; 0: there was no walk */
        uint64_t duration_usec;     /* when it has ended */
        uint64_t total;             /* estimated; 0: unknown */
        uint64_t entries_per_sec;   /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
        uint64_t next_told_usec;    /* when the journal is told again */
} Progress;

typedef enum ProgressNews { PROGRESS_NO_NEWS, PROGRESS_STARTED, PROGRESS_GOES_ON } ProgressNews;

typedef struct Verification {
        VerifyCall call; /* what is compared with */
        VerifyResult result;
        char *text; /* the result in a sentence */
} Verification;

typedef struct Jobs Jobs;

struct Job {
        Job *prev, *next;
        Jobs *jobs;
        uint64_t id;
        Operation operation;
        JobState state;
        Request request;
        VerifyDepth depth;
        Caller caller;
        char *source;       /* what hangs with others, see places_source(); NULL: nothing */
        Claimant claims;    /* volume, target, and the superblock once it is known */
        JobWaiter *waiters; /* for the answer */
        size_t n_waiters;
        JobWaiter *followers; /* for the end, by Job.Wait and Job.Cancel */
        size_t n_followers;
        bool shown; /* as an object: it walks, or waits in line */
        uint64_t started_usec, started_realtime_usec, ended_usec;
        sd_event_source *timer; /* for the first of: */
        uint64_t deadline_usec; /* monotonic; UINT64_MAX: none */
        uint64_t notice_usec;   /* the journal is told then that it waits in line */

        /* While there is a child: */
        sd_bus *worker;
        sd_bus_slot *call;
        sd_bus_message *question; /* of the child, that has no answer yet */

        Plan plan;
        char *share_target; /* of plan.share, which may go */
        uint64_t share_id;
        Observed observed;
        MountIdentity identity; /* of what may have been published; id 0: nothing */
        bool intent_recorded; /* the holder's state "mounting" is of this job, not of an earlier one that was lost */
        bool volume_is_new;   /* the volume's record is there for this job only */
        Progress progress;

        Failure failure;
        Failure refusal; /* plan: why a mount would be refused */
        union {
                OperationResult result; /* mount, plan, adopt, relabel, ownership: job_operation_result() */
                Verification verify;
                bool unmounted; /* unmount: there was a mount */
        };
        char *waits_for; /* that the journal was told last */
};

struct Jobs {
        State *state;
        Job *list; /* in the order of their arrival; those that have ended among them */
        struct Orphan *orphans;
        uint64_t last_id;
        sd_event_source *expiry;
        sd_event_source *advance; /* somebody's turn may have come */
};

enum {
        JOBS_KEPT_MAX = 64, /* of those that have ended */
        JOB_KEPT_SEC = 600,
};

/* The volume of the job; NULL if it isn't recorded. */
static inline Volume *job_volume(const Job *job) {
        return volumes_find(&job->jobs->state->volumes, job->request.volume);
}

static inline CallOrigin job_origin(const Job *job) {
        return (CallOrigin){ .volume = job->request.volume, .job = job->id };
}

static inline bool job_has_failed(const Job *job) {
        return job->failure.kind != FAILURE_NONE;
}

/* In line or parked, or about to be. */
static inline bool job_is_waiting(const Job *job) {
        return job->state <= JOB_LEAVING;
}

/* The outcome is known and does not change any more. */
static inline bool job_has_outcome(const Job *job) {
        return job->state >= JOB_COMMITTING;
}

/* Its callers are answered. */
static inline bool job_has_ended(const Job *job) {
        return job->state >= JOB_ENDED;
}

/* It can be freed. */
static inline bool job_is_over(const Job *job) {
        return job->state == JOB_OVER;
}

void caller_done(Caller *c);
/* Takes it out of the list, too. */
Job *job_free(Job *job);
DEFINE_CLEANUP_FUNC(Job *, job_free);

/* Takes one of the steps that the table allows, and tells those who see the job. */
void job_set_state(Job *job, JobState state);
/* Makes it an object that callers can see. */
void job_show(Job *job);
/* Its state as callers know it: "waiting", "running", "acting", "settling", "ended". */
const char *job_state_word(const Job *job);

/* How long it may take, by default or as its caller wants it. */
uint64_t job_timeout_usec(const Job *job);
/* The job, or its wait, ends if it lasts longer, from now on. */
void job_set_deadline(Job *job, uint64_t usec);
/* Sets the timer for the first of the job's times. */
void job_set_timer(Job *job);

/* Sets the failure from a negative errno of ours: out of memory, a worker that broke the protocol. 0 is
 * none, a failure kind is set already, and an earlier failure stays. */
void job_fail(Job *job, int r);

/* "" while it runs, then "done" or the failure's name. */
const char *job_result(const Job *job);
/* The result of an operation on files; an empty one for operations that do nothing to files. */
const OperationResult *job_operation_result(const Job *job);
/* The context that it is about; "" if none. */
const char *job_context(const Job *job);

/* Takes how far a walk that runs has come; total is 0 if unknown. Returns 0, or -EBADMSG if that can't be. */
int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) _warn_unused_;
/* Says what the journal is to be told of it now: that it has started once it has lasted a second, as most
 * take none; that it goes on after 10 s, and then each time that twice the time has passed, but once in ten
 * minutes at least. */
ProgressNews progress_next_news(Progress *p, uint64_t now);
/* The same as progress_take(), of a walk that has ended. */
int progress_end(Progress *p, const WalkCounts *counts) _warn_unused_;

/* The differences between operations, one file for each. All functions return 0, a negative errno, or a
 * failure kind with job->failure set. */
typedef struct OperationType {
        const char *name;              /* on the bus, and in the journal */
        const char *verb;              /* of a sentence that says what was asked for */
        const char *done_message;      /* MESSAGE_ID of its success; NULL: it has none */
        const char *storage_operation; /* as kubelet's metrics name it; NULL: it is none */
        bool changes;                  /* something: then it claims its volume and its target */
        bool answered_early;           /* when its walk begins */
        /* Before a child is started: whether it makes sense, by the record, and the intent of what needs no
         * plan. */
        int (*check)(Job *job);
        /* The worker's method, and its argument. */
        const char *method;
        int (*append)(const Job *job, sd_bus_message *call);
        /* Decides on the child's observations, and records the intent; NULL for an operation without
         * questions. The caller acts on an answer other than PLAN_GO; PLAN_STOP ends a job that asked for
         * nothing but a plan. */
        int (*plan)(Job *job, const PlanQuestion *q, PlanAnswer *ret);
        /* Takes the mount that was made, before anybody sees it. */
        int (*ready)(Job *job, const ReadyNote *note);
        /* Checks the result, and takes it into the record. */
        int (*take)(Job *job, sd_bus_message *reply);
        /* Nothing came of it, or nothing is left of it: the record is as if it had not been. NULL: it is in
         * any case. */
        void (*revert)(Job *job);
} OperationType;

const OperationType *operation_type(Operation operation);
const char *operation_to_string(Operation operation);

extern const OperationType mount_operation, plan_operation, adopt_operation, unmount_operation, verify_operation,
        relabel_operation, ownership_operation;

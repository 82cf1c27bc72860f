/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"
#include "model/mark.h"
#include "model/observed.h"
#include "model/request.h"
#include "wire/message.h"

/* The messages between the two processes, as structs that wire/message.h appends and reads. A new member
 * needs a line in the struct, a letter in the signature, and a line in the table in messages.c. */

#define NODE_TYPE "(bbbs)"
DECLARE_MESSAGE_OF_MODEL(Node, node);

#define MOUNT_FACT_TYPE "(tsssssssssbbb)"
DECLARE_MESSAGE_OF_MODEL(MountFact, mount_fact);

#define MOUNT_OUTCOME_TYPE "(" MOUNT_FACT_TYPE "suubtsb)"
DECLARE_MESSAGE_OF_MODEL(MountOutcome, mount_outcome);

#define OBSERVED_TYPE "(sbsssssasbba" MOUNT_FACT_TYPE ")"
DECLARE_MESSAGE_OF_MODEL(Observed, observed);

#define MARK_TYPE "(sssbsu)"
DECLARE_MESSAGE_OF_MODEL(Mark, mark);

#define WALK_COUNTS_TYPE "(ttttttt)"
DECLARE_MESSAGE(WalkCounts, walk_counts);

#define WALK_ISSUE_TYPE "(ss)"
DECLARE_MESSAGE(WalkIssue, walk_issue);

#define WALK_RESULT_TYPE "(" WALK_COUNTS_TYPE "a" WALK_ISSUE_TYPE "as)"
DECLARE_MESSAGE_OF_MODEL(WalkResult, walk_result);

/* A mount of this boot. The kernel reuses mount ids. */
typedef struct MountIdentity {
        uint64_t id;
        char *device; /* of the superblock, "major:minor" */
} MountIdentity;

#define MOUNT_IDENTITY_TYPE "(ts)"
DECLARE_MESSAGE(MountIdentity, mount_identity);

/* Begins each call: volume and job, for messages and the journal entries of the child; what may hang as a
 * whole, by which a later selvold counts the child (job/places.h), "": nothing; the digest of selvold's
 * configuration, 0: the peer has none to compare; and whether root calls, who may mount each device that the
 * host does not use. */
typedef struct CallOrigin {
        char *volume;
        char *source;
        uint64_t job;
        uint64_t settings;
        bool by_root;
} CallOrigin;

#define CALL_ORIGIN_TYPE "(ssttb)"
DECLARE_MESSAGE(CallOrigin, call_origin);

typedef struct MountCall {
        CallOrigin origin;
        char *source, *fs_type; /* fs_type "": to be detected */
        char *target;
        MountIdentity expected; /* mount at the target, if this repeats a request; id 0: none */
        Identity file_system;   /* that the record of the volume has; unknown: none */
        char *link;             /* the own link of its device; "": none */
        bool replace;           /* unmount the mount that another program made at the target */
        bool only_plan;         /* end with an empty result when the answer to Plan has been checked */
} MountCall;

#define MOUNT_CALL_TYPE "(" CALL_ORIGIN_TYPE "sss" MOUNT_IDENTITY_TYPE "ssbb)"
DECLARE_MESSAGE(MountCall, mount_call);

typedef struct AdoptCall {
        CallOrigin origin;
        char *target;
        Identity file_system; /* as in MountCall */
        char *link;
} AdoptCall;

#define ADOPT_CALL_TYPE "(" CALL_ORIGIN_TYPE "sss)"
DECLARE_MESSAGE(AdoptCall, adopt_call);

/* For a mounted volume, the target of one of its mounts; otherwise the source and type that it had. */
typedef struct ChangeCall {
        CallOrigin origin;
        char *target; /* "": the volume has to be staged */
        char *source, *fs_type;
        Identity file_system; /* the volume's, for staging it; unknown: whatever the source has */
        char *link;           /* the own link of its device; "": none */
} ChangeCall;

#define CHANGE_CALL_TYPE "(" CALL_ORIGIN_TYPE "sssss)"
DECLARE_MESSAGE(ChangeCall, change_call);

typedef struct VerifyCall {
        CallOrigin origin;
        char *path;     /* a directory or file beneath TargetRoots=, mounted or not */
        char *expected; /* context; "": labels are not compared */
        VerifyDepth depth;
        /* Expected, as the mount shows it; also compares modes with those of writers. Not with depth root.
         * GID_NONE: groups are not compared. */
        gid_t gid;
        uint64_t entries_per_sec; /* limit; 0: none */
        /* The holder's mount at or above the path. The worker resets its mark if the mark is wrong. */
        char *mount_target; /* "": none */
        MountIdentity mount;
} VerifyCall;

#define VERIFY_CALL_TYPE "(" CALL_ORIGIN_TYPE "sssuts" MOUNT_IDENTITY_TYPE ")"
DECLARE_MESSAGE(VerifyCall, verify_call);

typedef struct VerifyResult {
        bool matches; /* everything that was compared, in canonical form */
        char *actual; /* label of the path itself, canonical; "": none */
        WalkResult walk;
        MarkChange reset; /* the wrong parts of the mark */
        char *not_reset;  /* why the mark could not be reset; "": it was, or was right */
} VerifyResult;

#define VERIFY_RESULT_TYPE "(bs" WALK_RESULT_TYPE "ss)"
DECLARE_MESSAGE(VerifyResult, verify_result);

typedef struct UnmountCall {
        CallOrigin origin;
        char *target;
        MountIdentity identity; /* of the mount to unmount; id 0: none is expected */
        bool last; /* nobody else is known to have the block device mounted: look whether it is free then */
        /* To read the fingerprint from after the last unmount; source "": no fingerprint. */
        char *source, *fs_type;
} UnmountCall;

#define UNMOUNT_CALL_TYPE "(" CALL_ORIGIN_TYPE "s" MOUNT_IDENTITY_TYPE "bss)"
DECLARE_MESSAGE(UnmountCall, unmount_call);

typedef struct UnmountResult {
        bool unmounted;  /* there was a mount */
        bool still_open; /* UnmountCall.last: somebody still has the device mounted, or open exclusively */
        /* The file system's fingerprint, if this was its last mount and the call named a source. */
        Fingerprint fingerprint;
} UnmountResult;

#define UNMOUNT_RESULT_TYPE "(bbs)"
DECLARE_MESSAGE(UnmountResult, unmount_result);

/* Where a child is (the signal At). */
typedef enum WorkerAt { WORKER_AT_LOOK, WORKER_AT_UNMOUNT, WORKER_AT_REPLACED, WORKER_AT_WORDS } WorkerAt;
DECLARE_STRING_TABLE(worker_at, WorkerAt);

/* A child that still runs for another process, perhaps for one that is gone. */
typedef struct OrphanInfo {
        pid_t pid;
        char *operation; /* the worker's method; WORKER_MOUNT_PLAN */
        char *volume;    /* "": the volume recorded at the target */
        char *target;    /* "": none */
        char *source;    /* as the call had it: CallOrigin */
} OrphanInfo;

#define ORPHAN_INFO_TYPE "(issss)"
DECLARE_MESSAGE(OrphanInfo, orphan_info);

/* The present state when a watch begins. */
typedef struct Watched {
        uint64_t settings; /* digest of the worker's configuration */
        OrphanInfo *orphans;
        size_t n_orphans;
        Node node;
        MountFact *mounts; /* beneath TargetRoots= */
        size_t n_mounts;
        MountIdentity *left; /* of notes whose mount is gone, though selvol has not unmounted it */
        size_t n_left;
} Watched;

#define WATCHED_TYPE "(ta" ORPHAN_INFO_TYPE NODE_TYPE "a" MOUNT_FACT_TYPE "a" MOUNT_IDENTITY_TYPE ")"
DECLARE_MESSAGE(Watched, watched);

typedef struct MountChanges {
        MountFact *came; /* new or changed */
        size_t n_came;
        MountIdentity *went;
        size_t n_went;
} MountChanges;

#define MOUNT_CHANGES_TYPE "(a" MOUNT_FACT_TYPE "a" MOUNT_IDENTITY_TYPE ")"
DECLARE_MESSAGE(MountChanges, mount_changes);

#define FILES_DECISION_TYPE "(ssbssuu)"
DECLARE_MESSAGE(FilesDecision, files_decision);

typedef struct PlanQuestion {
        Node node;
        Observed observed;
        int seclabel; /* whether the mount keeps labels: 0, 1; -1: no mount yet */
        bool mounted; /* Adopt, or Change of a mounted volume: outcome describes the mount */
        MountOutcome outcome;
        /* Set in a second question: the walk that is needed would take a group from others
         * (PlanAnswer.reliances). */
        FilesDecision files;
        char *root; /* of the mount, within its file system */
        Mark mark;  /* on the volume; set with files only */
} PlanQuestion;

#define PLAN_QUESTION_TYPE "(" NODE_TYPE OBSERVED_TYPE "ib" MOUNT_OUTCOME_TYPE FILES_DECISION_TYPE "s" MARK_TYPE ")"
DECLARE_MESSAGE(PlanQuestion, plan_question);

#define FILES_WANTED_TYPE "(subssbbsbbbbu)"
DECLARE_MESSAGE(FilesWanted, files_wanted);

#define RELIANCE_TYPE "(ussss)"
DECLARE_MESSAGE(Reliance, reliance);

typedef enum PlanStep {
        PLAN_GO,
        PLAN_LOOK, /* look for the mounts of the superblock, and ask again */
        PLAN_WAIT, /* the job has to wait; a new child will look again */
        PLAN_STOP, /* refused; selvold knows the reason */
        PLAN_STEPS,
} PlanStep;
DECLARE_STRING_TABLE(plan_step, PlanStep);

/* With a step other than PLAN_GO all other members are empty. */
typedef struct PlanAnswer {
        PlanStep step;
        int seclabel;         /* assumption whether the mount keeps labels: 0, 1; -1: either */
        char *context;        /* of the option context=; "": mount without it */
        char **mount_options; /* without context=, nosuid, nodev, ro */
        bool read_only;
        /* Clone the mount at this target, which has share_id; "": mount the source. For Change: the mount to
         * work through. */
        char *share_target;
        uint64_t share_id;
        /* Effect of this mount, and of others, on labels; the worker writes it to the mark before the mount
         * is visible. */
        MarkChange change;
        FilesWanted files;
        Reliance *reliances;
        size_t n_reliances;
        uint64_t entries_per_sec; /* limit of a walk; 0: none */
        MarkHistory history;      /* for trusting the mark */
} PlanAnswer;

#define PLAN_ANSWER_INIT ((PlanAnswer){ .seclabel = -1, .files = FILES_WANTED_INIT })

#define PLAN_ANSWER_TYPE "(sisasbsts" FILES_WANTED_TYPE "a" RELIANCE_TYPE "tbbbbss)"
DECLARE_MESSAGE(PlanAnswer, plan_answer);

typedef struct ReadyQuestion {
        MountIdentity identity;
        Identity file_system;    /* of the mount */
        gid_t gid, disk_gid;     /* group that files show, and have; GID_NONE: no group was asked for */
        Fingerprint fingerprint; /* as in OperationResult */
        Mark mark;               /* on the volume now */
} ReadyQuestion;

#define READY_QUESTION_TYPE "(" MOUNT_IDENTITY_TYPE "suus" MARK_TYPE ")"
DECLARE_MESSAGE(ReadyQuestion, ready_question);

typedef struct WalkQuestion {
        /* The mark on the volume now, which says that the walk has begun. */
        Mark mark;
        FilesDecision files;
} WalkQuestion;

#define WALK_QUESTION_TYPE "(" MARK_TYPE FILES_DECISION_TYPE ")"
DECLARE_MESSAGE(WalkQuestion, walk_question);

/* The result of Mount, Adopt and Change. */
typedef struct OperationResult {
        bool repeated; /* Mount: the expected mount was there, and nothing was done */
        MountOutcome outcome;
        Mark mark;           /* on the volume now */
        FilesDecision files; /* what was done */
        char *detail;        /* adds to the reason of the ownership, for people; "" */
        bool walked;
        /* For the volume's record: FINGERPRINT_MOUNTED; after Change of an unmounted volume, the fingerprint
         * of the file system; not known: the next mount does not trust the mark, or the mark itself has the
         * fingerprint. */
        Fingerprint fingerprint;
        /* If counts.failed > 0, some entries could not be changed, and a mount was not published. */
        WalkResult walk;
} OperationResult;

#define OPERATION_RESULT_TYPE "(b" MOUNT_OUTCOME_TYPE MARK_TYPE FILES_DECISION_TYPE "sbs" WALK_RESULT_TYPE ")"
DECLARE_MESSAGE(OperationResult, operation_result);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"
#include "model/mark.h"
#include "model/observed.h"
#include "model/request.h"
#include "wire/message.h"

/* The messages between the two processes, as structs that wire/message.h appends and reads. A new member is
 * a line in the struct, a letter in the signature, and a line in the table in messages.c. */

#define NODE_TYPE "(bbbs)"
DECLARE_MESSAGE_OF_MODEL(Node, node);

#define MOUNT_FACT_TYPE "(tsssssssssbb)"
DECLARE_MESSAGE_OF_MODEL(MountFact, mount_fact);

#define MOUNT_OUTCOME_TYPE "(" MOUNT_FACT_TYPE "suubtb)"
DECLARE_MESSAGE_OF_MODEL(MountOutcome, mount_outcome);

#define OBSERVED_TYPE "(sbssbba" MOUNT_FACT_TYPE ")"
DECLARE_MESSAGE_OF_MODEL(Observed, observed);

#define MARK_TYPE "(sssbsu)"
DECLARE_MESSAGE_OF_MODEL(Mark, mark);

#define WALK_COUNTS_TYPE "(ttttttt)"
DECLARE_MESSAGE(WalkCounts, walk_counts);

#define WALK_ISSUE_TYPE "(ss)"
DECLARE_MESSAGE(WalkIssue, walk_issue);

#define WALK_RESULT_TYPE "(" WALK_COUNTS_TYPE "a" WALK_ISSUE_TYPE "as)"
DECLARE_MESSAGE_OF_MODEL(WalkResult, walk_result);

/* A mount of this boot. The kernel gives an id to another mount once it is free. */
typedef struct MountIdentity {
        uint64_t id;
        char *device; /* of the superblock, "major:minor" */
} MountIdentity;

#define MOUNT_IDENTITY_TYPE "(ts)"
DECLARE_MESSAGE(MountIdentity, mount_identity);

/* Each call begins with it, for messages and the journal: whose records the child's are. */
typedef struct CallOrigin {
        char *volume;
        uint64_t job;
} CallOrigin;

#define CALL_ORIGIN_TYPE "(st)"
DECLARE_MESSAGE(CallOrigin, call_origin);

typedef struct MountCall {
        CallOrigin origin;
        char *source, *fs_type; /* type "": find it out */
        char *target;
        MountIdentity expected; /* the mount that is at the target already if this repeats a request; id 0: none */
} MountCall;

#define MOUNT_CALL_TYPE "(" CALL_ORIGIN_TYPE "sss" MOUNT_IDENTITY_TYPE ")"
DECLARE_MESSAGE(MountCall, mount_call);

typedef struct AdoptCall {
        CallOrigin origin;
        char *target;
} AdoptCall;

#define ADOPT_CALL_TYPE "(" CALL_ORIGIN_TYPE "s)"
DECLARE_MESSAGE(AdoptCall, adopt_call);

/* Of a volume that is mounted the target of one of its mounts, of one that isn't what it was mounted from. */
typedef struct ChangeCall {
        CallOrigin origin;
        char *target; /* "": it has to be staged */
        char *source, *fs_type;
} ChangeCall;

#define CHANGE_CALL_TYPE "(" CALL_ORIGIN_TYPE "sss)"
DECLARE_MESSAGE(ChangeCall, change_call);

typedef struct VerifyCall {
        CallOrigin origin;
        char *path;     /* a directory or file beneath the roots, mounted or not */
        char *expected; /* context; "": labels don't matter */
        VerifyDepth depth;
        gid_t gid; /* expected, as the mount shows it, with the modes of writers; not with depth root; GID_NONE: groups don't
                    * matter */
        uint64_t entries_per_sec; /* at most; 0: no limit */
        /* The holder's mount that the path is, or is beneath, whose mark is reset where it is found to
         * claim too much. */
        char *mount_target; /* "": none */
        MountIdentity mount;
} VerifyCall;

#define VERIFY_CALL_TYPE "(" CALL_ORIGIN_TYPE "sssuts" MOUNT_IDENTITY_TYPE ")"
DECLARE_MESSAGE(VerifyCall, verify_call);

typedef struct VerifyResult {
        bool matches; /* in canonical form, all that was compared */
        char *actual; /* label of the path itself, canonical; "": none */
        WalkResult walk;
        MarkChange reset; /* what the mark claimed wrongly */
        char *not_reset;  /* why it could not be reset, if it had to be; "" */
} VerifyResult;

#define VERIFY_RESULT_TYPE "(bs" WALK_RESULT_TYPE "ss)"
DECLARE_MESSAGE(VerifyResult, verify_result);

typedef struct UnmountCall {
        CallOrigin origin;
        char *target;
        MountIdentity identity; /* id 0: none is expected there */
        char *source, *fs_type; /* of which the fingerprint is to be kept when it is gone; source "": of none */
} UnmountCall;

#define UNMOUNT_CALL_TYPE "(" CALL_ORIGIN_TYPE "s" MOUNT_IDENTITY_TYPE "ss)"
DECLARE_MESSAGE(UnmountCall, unmount_call);

typedef struct UnmountResult {
        bool unmounted;          /* whether it was there */
        Fingerprint fingerprint; /* of the file system, if that was the last mount of it and it was asked for */
} UnmountResult;

#define UNMOUNT_RESULT_TYPE "(bs)"
DECLARE_MESSAGE(UnmountResult, unmount_result);

/* A child that is at work for a process that is gone, or another one. */
typedef struct OrphanNote {
        pid_t pid;
        char *operation; /* its method */
        char *volume;    /* "": see what is recorded for the target */
        char *target;    /* "": none */
} OrphanNote;

#define ORPHAN_NOTE_TYPE "(isss)"
DECLARE_MESSAGE(OrphanNote, orphan_note);

/* The state when a watch begins. */
typedef struct Watched {
        OrphanNote *orphans;
        size_t n_orphans;
        Node node;
        MountFact *mounts; /* beneath the target roots */
        size_t n_mounts;
} Watched;

#define WATCHED_TYPE "(a" ORPHAN_NOTE_TYPE NODE_TYPE "a" MOUNT_FACT_TYPE ")"
DECLARE_MESSAGE(Watched, watched);

typedef struct MountChanges {
        MountFact *came; /* or are something else now */
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
        int seclabel; /* what the mount shows: 0, 1; -1: there is none yet */
        bool mounted; /* Adopt, and Change of what is mounted: outcome says what is there */
        MountOutcome outcome;
        /* Asked once more: the walk that is needed would take a group from others (PlanAnswer.reliances).
         * Otherwise nothing. */
        FilesDecision files;
        char *root; /* of the mount, within its file system */
} PlanQuestion;

#define PLAN_QUESTION_TYPE "(" NODE_TYPE OBSERVED_TYPE "ib" MOUNT_OUTCOME_TYPE FILES_DECISION_TYPE "s)"
DECLARE_MESSAGE(PlanQuestion, plan_question);

#define FILES_WANTED_TYPE "(subssbbsbbbbu)"
DECLARE_MESSAGE(FilesWanted, files_wanted);

#define RELIANCE_TYPE "(usss)"
DECLARE_MESSAGE(Reliance, reliance);

typedef enum PlanVerdict {
        PLAN_GO,
        PLAN_LOOK, /* for the mounts of the superblock, and ask again */
        PLAN_WAIT, /* for a place in line; a new child will look anew */
        PLAN_STOP, /* refused, or only asked; selvold knows why */
        PLAN_VERDICTS,
} PlanVerdict;
DECLARE_STRING_TABLE(plan_verdict, PlanVerdict);

/* With a verdict other than PLAN_GO all else is empty. */
typedef struct PlanAnswer {
        PlanVerdict verdict;
        int seclabel;         /* what the answer supposes the mount to show: 0, 1; -1: no matter */
        char *context;        /* of context=; "": mount without */
        char **mount_options; /* without context=, nosuid, nodev, ro */
        bool read_only;
        char *share_target; /* mount by cloning the mount at this target, which has the id; "": mount the source. Change: the
                             * mount to work through */
        uint64_t share_id;
        MarkChange change; /* what the mount, and those of others, may do to labels: in the mark before it is seen */
        FilesWanted files;
        Reliance *reliances;
        size_t n_reliances;
        uint64_t entries_per_sec; /* of a walk, at most; 0: no limit */
        Witness witness;          /* of the mark */
} PlanAnswer;

#define PLAN_ANSWER_INIT ((PlanAnswer){ .seclabel = -1, .files = FILES_WANTED_INIT })

#define PLAN_ANSWER_TYPE "(sisasbsts" FILES_WANTED_TYPE "a" RELIANCE_TYPE "tbbbs)"
DECLARE_MESSAGE(PlanAnswer, plan_answer);

typedef struct ReadyNote {
        MountIdentity identity;
        gid_t gid, disk_gid;     /* that files show, and have; GID_NONE: no group was asked for */
        Fingerprint fingerprint; /* as in OperationResult */
        Mark mark;               /* on the volume now */
} ReadyNote;

#define READY_NOTE_TYPE "(" MOUNT_IDENTITY_TYPE "uus" MARK_TYPE ")"
DECLARE_MESSAGE(ReadyNote, ready_note);

typedef struct WalkNote {
        Mark mark; /* on the volume now, where it says that the walk has begun */
        FilesDecision files;
} WalkNote;

#define WALK_NOTE_TYPE "(" MARK_TYPE FILES_DECISION_TYPE ")"
DECLARE_MESSAGE(WalkNote, walk_note);

/* What Mount, Adopt and Change end with. */
typedef struct OperationResult {
        bool repeated; /* Mount: what was expected is there, and nothing was done */
        MountOutcome outcome;
        Mark mark;           /* as it is now */
        FilesDecision files; /* what was done */
        char *detail;        /* of the ownership's reason, for people; "" */
        bool walked;
        /* To be kept of the volume: FINGERPRINT_MOUNTED; after Change of what is not mounted, that of the
         * file system; not known: the mark is not believed, or keeps it itself. */
        Fingerprint fingerprint;
        WalkResult walk; /* counts.failed > 0: some entries could not be changed; a mount was not published then */
} OperationResult;

#define OPERATION_RESULT_TYPE "(b" MOUNT_OUTCOME_TYPE MARK_TYPE FILES_DECISION_TYPE "sbs" WALK_RESULT_TYPE ")"
DECLARE_MESSAGE(OperationResult, operation_result);

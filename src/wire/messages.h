/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/files.h"
#include "model/mark.h"
#include "model/observed.h"
#include "model/request.h"
#include "model/walk.h"

/* What the two processes say to each other: a struct, its D-Bus type, a function to append it to a message and one to
 * read it, for each thing said. All functions return 0 or a negative errno.
 *
 * Append: strings that are not UTF-8, which D-Bus can't carry, are escaped; NULL is "". Read: *ret is overwritten, not
 * released; what can't be is -EBADMSG: a context that isn't canonical, a word that stands for nothing, states that don't
 * go together, a line with control characters, more elements than are ever sent. */

#define NODE_TYPE "(bbbs)"
int node_append(sd_bus_message *m, const Node *node) _warn_unused_;
int node_read(sd_bus_message *m, Node *ret) _warn_unused_;

#define MOUNT_FACT_TYPE "(tsssssssssbb)"
int mount_fact_append(sd_bus_message *m, const MountFact *fact) _warn_unused_;
int mount_fact_read(sd_bus_message *m, MountFact *ret) _warn_unused_;
int mount_facts_append(sd_bus_message *m, const MountFact *facts, size_t n) _warn_unused_;
int mount_facts_read(sd_bus_message *m, MountFact **ret, size_t *ret_n) _warn_unused_;

#define MOUNT_OUTCOME_TYPE "(" MOUNT_FACT_TYPE "suubtb)"
int mount_outcome_append(sd_bus_message *m, const MountOutcome *outcome) _warn_unused_;
int mount_outcome_read(sd_bus_message *m, MountOutcome *ret) _warn_unused_;

#define OBSERVED_TYPE "(sbssbba" MOUNT_FACT_TYPE ")"
int observed_append(sd_bus_message *m, const Observed *observed) _warn_unused_;
int observed_read(sd_bus_message *m, Observed *ret) _warn_unused_;

#define MARK_TYPE "(sssbsu)"
int mark_append(sd_bus_message *m, const Mark *mark) _warn_unused_;
int mark_read(sd_bus_message *m, Mark *ret) _warn_unused_;

#define WALK_COUNTS_TYPE "(ttttttt)"
int walk_counts_append(sd_bus_message *m, const WalkCounts *counts) _warn_unused_;
int walk_counts_read(sd_bus_message *m, WalkCounts *ret) _warn_unused_;

#define WALK_RESULT_TYPE "(" WALK_COUNTS_TYPE "a(ss)as)"
int walk_result_append(sd_bus_message *m, const WalkResult *result) _warn_unused_;
int walk_result_read(sd_bus_message *m, WalkResult *ret) _warn_unused_;

/* A mount of this boot. The kernel gives an id to another mount once it is free. */
typedef struct MountIdentity {
        uint64_t id;
        char *device; /* of the superblock, "major:minor" */
} MountIdentity;

void mount_identity_done(MountIdentity *i);
#define MOUNT_IDENTITY_TYPE "(ts)"
int mount_identity_append(sd_bus_message *m, const MountIdentity *identity) _warn_unused_;
int mount_identity_read(sd_bus_message *m, MountIdentity *ret) _warn_unused_;

typedef struct MountCall {
        char *volume;           /* for messages */
        char *source, *fs_type; /* type "": find it out */
        char *target;
        MountIdentity expected; /* the mount that is at the target already if this repeats a request; id 0: none */
} MountCall;

void mount_call_done(MountCall *c);
#define MOUNT_CALL_TYPE "(ssss" MOUNT_IDENTITY_TYPE ")"
int mount_call_append(sd_bus_message *m, const MountCall *c) _warn_unused_;
int mount_call_read(sd_bus_message *m, MountCall *ret) _warn_unused_;

typedef struct AdoptCall {
        char *volume; /* for messages */
        char *target;
} AdoptCall;

void adopt_call_done(AdoptCall *c);
#define ADOPT_CALL_TYPE "(ss)"
int adopt_call_append(sd_bus_message *m, const AdoptCall *c) _warn_unused_;
int adopt_call_read(sd_bus_message *m, AdoptCall *ret) _warn_unused_;

/* Of a volume that is mounted the target of one of its mounts, of one that isn't what it was mounted from. */
typedef struct ChangeCall {
        char *volume; /* for messages */
        char *target; /* "": it has to be staged */
        char *source, *fs_type;
} ChangeCall;

void change_call_done(ChangeCall *c);
#define CHANGE_CALL_TYPE "(ssss)"
int change_call_append(sd_bus_message *m, const ChangeCall *c) _warn_unused_;
int change_call_read(sd_bus_message *m, ChangeCall *ret) _warn_unused_;

typedef struct VerifyCall {
        char *path;     /* a directory or file beneath the roots, mounted or not */
        char *expected; /* context; "": labels don't matter */
        VerifyDepth depth;
        gid_t gid; /* expected, as the mount shows it, with the modes of writers; not with depth root; GID_NONE: groups don't
                    * matter */
        uint64_t entries_per_sec; /* at most; 0: no limit */
        /* The holder's mount that the path is, or is beneath, whose mark is reset where it is found to claim too much. */
        char *mount_target; /* "": none */
        uint64_t mount_id;
        char *mount_device; /* for selvold, not on the wire */
} VerifyCall;

void verify_call_done(VerifyCall *c);
#define VERIFY_CALL_TYPE "(sssutst)"
int verify_call_append(sd_bus_message *m, const VerifyCall *c) _warn_unused_;
int verify_call_read(sd_bus_message *m, VerifyCall *ret) _warn_unused_;

typedef struct VerifyResult {
        bool matches; /* in canonical form, all that was compared */
        char *actual; /* label of the path itself, canonical; "": none */
        WalkResult walk;
        MarkChange reset; /* what the mark claimed wrongly */
        char *not_reset;  /* why it could not be reset, if it had to be; "" */
} VerifyResult;

void verify_result_done(VerifyResult *r);
#define VERIFY_RESULT_TYPE "(bs" WALK_RESULT_TYPE "ss)"
int verify_result_append(sd_bus_message *m, const VerifyResult *r) _warn_unused_;
int verify_result_read(sd_bus_message *m, VerifyResult *ret) _warn_unused_;

typedef struct UnmountCall {
        char *target;
        MountIdentity identity; /* id 0: none is expected there */
        char *source, *fs_type; /* of which the fingerprint is to be kept when it is gone; source "": of none */
} UnmountCall;

void unmount_call_done(UnmountCall *c);
#define UNMOUNT_CALL_TYPE "(s" MOUNT_IDENTITY_TYPE "ss)"
int unmount_call_append(sd_bus_message *m, const UnmountCall *c) _warn_unused_;
int unmount_call_read(sd_bus_message *m, UnmountCall *ret) _warn_unused_;

/* A child that is at work for a process that is gone, or another one. */
typedef struct OrphanNote {
        pid_t pid;
        const char *operation; /* its method */
        const char *volume;    /* "": see what is recorded for the target */
        const char *target;    /* "": none */
} OrphanNote;

#define ORPHAN_NOTE_TYPE "(usss)"
int orphan_note_append(sd_bus_message *m, const OrphanNote *o) _warn_unused_;
/* The strings are the message's. Returns 1, or 0 at the end of an array. */
int orphan_note_read(sd_bus_message *m, OrphanNote *ret) _warn_unused_;

typedef struct PlanQuestion {
        Node node;
        Observed observed;
        int seclabel; /* what the mount shows: 0, 1; -1: there is none yet */
        bool mounted; /* Adopt, and Change of what is mounted: outcome says what is there */
        MountOutcome outcome;
} PlanQuestion;

void plan_question_done(PlanQuestion *q);
#define PLAN_QUESTION_TYPE "(" NODE_TYPE OBSERVED_TYPE "ib" MOUNT_OUTCOME_TYPE ")"
int plan_question_append(sd_bus_message *m, const PlanQuestion *q) _warn_unused_;
int plan_question_read(sd_bus_message *m, PlanQuestion *ret) _warn_unused_;

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

void plan_answer_done(PlanAnswer *a);
#define FILES_WANTED_TYPE "(subssbbsbbbbu)"
#define PLAN_ANSWER_TYPE  "(sisasbsts" FILES_WANTED_TYPE "a(uss)tbbbs)"
int plan_answer_append(sd_bus_message *m, const PlanAnswer *a) _warn_unused_;
int plan_answer_read(sd_bus_message *m, PlanAnswer *ret) _warn_unused_;

typedef struct ReadyNote {
        MountIdentity identity;
        gid_t gid, disk_gid;     /* that files show, and have; GID_NONE: no group was asked for */
        Fingerprint fingerprint; /* as in OperationResult */
} ReadyNote;

void ready_note_done(ReadyNote *n);
#define READY_NOTE_TYPE "(" MOUNT_IDENTITY_TYPE "uus)"
int ready_note_append(sd_bus_message *m, const ReadyNote *n) _warn_unused_;
int ready_note_read(sd_bus_message *m, ReadyNote *ret) _warn_unused_;

#define FILES_DECISION_TYPE "(ssbssuu)"
int files_decision_append(sd_bus_message *m, const FilesDecision *d) _warn_unused_;
int files_decision_read(sd_bus_message *m, FilesDecision *ret) _warn_unused_;

/* What Mount, Adopt and Change end with. */
typedef struct OperationResult {
        bool repeated; /* Mount: what was expected is there, and nothing was done */
        MountOutcome outcome;
        Mark mark;           /* as it is now */
        FilesDecision files; /* what was done */
        char *detail;        /* of the ownership's reason, for people; "" */
        bool walked;
        /* To be kept of the volume: FINGERPRINT_MOUNTED; after Change of what is not mounted, that of the file system; not
         * known: the mark is not believed, or keeps it itself. */
        Fingerprint fingerprint;
        WalkResult walk; /* counts.failed > 0: some entries could not be changed; a mount was not published then */
} OperationResult;

void operation_result_done(OperationResult *r);
#define OPERATION_RESULT_TYPE "(b" MOUNT_OUTCOME_TYPE MARK_TYPE FILES_DECISION_TYPE "sbs" WALK_RESULT_TYPE ")"
int operation_result_append(sd_bus_message *m, const OperationResult *r) _warn_unused_;
int operation_result_read(sd_bus_message *m, OperationResult *ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "model/files.h"
#include "model/volume.h"

/* The decision: how a volume gets its label. The only place where one is taken. */

/* Someone whose use of the volume stands in the way. */
typedef struct Conflict {
        char *volume; /* "" if it is no volume of ours */
        char *holder; /* "" likewise */
        char *target;
        char *context;       /* "" if mounted without or unknown */
        uint64_t since_usec; /* 0: unknown */
} Conflict;

typedef struct Plan {
        Strategy strategy;
        char *context;            /* canonical; "" where it is unknown or plays no part */
        const char *runtime_flag; /* "Z" or "" */
        Reason reason;
        char *text;           /* the reason in a sentence */
        char **mount_options; /* what the file system is mounted with, without context=, nosuid and nodev */
        bool read_only;
        bool relabel_here; /* the service relabels the files, not the runtime: before anyone sees the mount, or, if
                            * somebody else has made it, before the answer; files_decide() may find it done */
        gid_t fs_group;    /* that the files are to have, to whoever uses the mount; GID_NONE: none */
        bool readers;      /* they need to read only */
        OwnershipAction ownership; /* none; option; walk, of which files_decide() may find nothing to do; map: if
                                    * need be, but no file is to be changed */
        OwnershipReason ownership_reason;
        MarkChange
                change; /* to the mark, with what other users may do: to be durable before the mount is seen, but after
                            * relabeling here */
        const Holder *share; /* mount by cloning this holder's mount; belongs to the input */
        uint64_t entries;    /* to be visited by a relabel, 0 if none or unknown */
        uint64_t usec;       /* how long that takes, likewise */
        Conflict *conflicts; /* filled with a CONTEXT_CONFLICT failure */
        size_t n_conflicts;
} Plan;

void plan_done(Plan *p);
/* Drops one of the conflicts. */
void plan_drop_conflict(Plan *p, size_t i);

typedef struct PlanInput {
        const Node *node;
        const Settings *settings;
        const Request *request; /* validated */
        const Volumes *volumes; /* what is recorded, of all volumes: conflicts may come from another one */
        const Observed *observed;
        int seclabel;             /* what the mount shows, once there is one; -1: foretell it */
        const MountFact *mounted; /* what somebody else has mounted at the target, when that is to be adopted */
} PlanInput;

/* Decides by the rules of docs/plan.md, which are KEP-1710's. No side effects, no clock; equal input, equal plan.
 * Returns 0 with *ret filled; -ENOMEM; or why not: LEVEL_REQUIRED, INVALID_CONTEXT, TYPE_NOT_ALLOWED, NOT_SUPPORTED,
 * INVALID_OPTION, INCOMPATIBLE, for an adoption CONTEXT_DROPPED and LABEL_MISMATCH, CONTEXT_CONFLICT (*ret then holds
 * the conflicts, and must be released too). */
int plan_make(const PlanInput *in, Plan *ret, Failure *f) _warn_unused_;

typedef struct ChangeInput {
        const Node *node; /* NULL while nothing was seen of it */
        const Settings *settings;
        const Volumes *volumes;
        const Volume *volume;     /* with its holders */
        const char *context;      /* wanted, in full; NULL or "": the one of its present or last use */
        const Observed *observed; /* of its superblock; NULL if nobody looked */
} ChangeInput;

/* Decides on the method Relabel, which asks for labels and for no mount: strategy relabel, done here, with the
 * context in canonical form; share is the holder's mount to walk over, NULL if nobody has the volume, so that it has
 * to be mounted first, with the options of the last mount; change is what the holders may do afterwards. Whether
 * there is anything to do is files_decide()'s. Returns 0 with *ret filled; -ENOMEM; or why not: NOT_SUPPORTED
 * (SELinux is off; hostPath always, and other volumes whose labels are not managed; mounted with a context, so that
 * its files have no labels to change; held by readers only; held by nobody, and not known in full, or no longer
 * there), INVALID_OPTION (of the last mount, and not allowed any more), INVALID_CONTEXT, LEVEL_REQUIRED,
 * TYPE_NOT_ALLOWED, BUSY (a mount of it is on its way), CONTEXT_CONFLICT: a holder relies on another context (*ret
 * then holds the conflicts, and must be released too). */
int plan_relabel(const ChangeInput *in, Plan *ret, Failure *f) _warn_unused_;

/* Decides on the method ApplyOwnership, which gives a volume's files to a group and asks for no mount: gid is the one
 * wanted; share is the holder's mount to walk over, NULL if nobody has the volume, so that it has to be mounted
 * first, with the options of the last mount. Labels, and the context, play no part. Returns 0 with *ret filled;
 * -ENOMEM; or why not: NOT_SUPPORTED (a hostPath, always; held by readers only; held by nobody, and not known in
 * full, or no longer there), INVALID_OPTION, BUSY, GROUP_CONFLICT: a holder has the files in another group (*ret then
 * holds the conflicts, and must be released too). */
int plan_ownership(const ChangeInput *in, gid_t gid, bool readers, Plan *ret, Failure *f) _warn_unused_;

/* Adds to the plan's conflicts who relies on the files having another group on disk than gid: other holders of the
 * volume than the one at target, and holders of other volumes that have some of the same files; root is the directory
 * of the file system that the volume is, NULL if that isn't known. Returns 0; GROUP_CONFLICT, naming the first;
 * -ENOMEM. */
int plan_check_group(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                     const char *root, gid_t gid, Plan *p, Failure *f) _warn_unused_;

/* Who relies on the group that the files have on disk now: as plan_check_group() finds them, for whoever decides on the
 * files later. *ret is to be released with reliances_free(). Returns 0 or -ENOMEM. */
int plan_find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Reliance **ret, size_t *ret_n) _warn_unused_;

/* The sentence that goes with a reason. */
const char *plan_reason_text(Reason reason);

/* What a file system is mounted with: the caller's options, checked, and what a context mount of it needs besides.
 * fs_type may be NULL while it is unknown. Returns 0, -ENOMEM or INVALID_OPTION. */
int plan_mount_options(const Settings *settings, const char *fs_type, Strategy strategy, char *const *options,
                       char ***ret, Failure *f) _warn_unused_;

/* The context that the request asks for, complete and canonical; "" if it names no level and the policy has levels.
 * Returns 0, -ENOMEM, INVALID_CONTEXT or TYPE_NOT_ALLOWED. */
int plan_wanted_context(const Node *node, const Settings *settings, const Request *q, char **ret,
                        Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"
#include "model/observed.h"
#include "model/volume.h"

/* The plan itself, and what plan.c, plan-change.c, plan-conflict.c and plan-group.c share. */

/* Someone whose use of the volume stands in the way. */
typedef struct Conflict {
        char *volume; /* "" if it is no volume of ours */
        char *holder; /* "" likewise */
        char *target;
        Strategy strategy;
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
        MarkChange change;   /* to the mark, with what other users may do: to be durable before the mount is seen, but
                              * after relabeling here */
        const Holder *share; /* mount by cloning this holder's mount; belongs to the input */
        uint64_t entries;    /* to be visited by a relabel, 0 if none or unknown */
        uint64_t usec;       /* how long that takes, likewise */
        Conflict *conflicts; /* filled with a CONTEXT_CONFLICT or GROUP_CONFLICT failure */
        size_t n_conflicts;
} Plan;

void plan_done(Plan *p);
/* Drops one of the conflicts. */
void plan_drop_conflict(Plan *p, size_t i);

/* The sentence that goes with a reason. */
const char *plan_reason_text(Reason reason);
/* The same, and who has to relabel the files, given who was asked for. NULL on lack of memory. */
char *plan_describe(const Plan *p, RelabelBy wanted) _warn_unused_;
/* The options to pass if no file is to be relabeled, as a sentence after a blank; "": nothing is known. */
const char *plan_describe_avoidance(const Plan *p);

/* Where other users of a volume are found: among its holders, and among the mounts of its superblock. */
typedef struct Others {
        const Volumes *volumes;
        const Volume *own; /* NULL: nothing is recorded of the volume */
        const Observed *observed;
        const char *target; /* the caller's own, which doesn't count; "": none */
        bool adopting;      /* what is mounted there */
        bool claimed;       /* no job is at work on the volume but the caller's */
} Others;

/* The configuration and the request say this of a volume's labels. */
typedef struct Traits {
        bool managed;
        Reason why_not;      /* unless managed */
        bool supports_mount; /* SELinuxMountSupported */
} Traits;

/* The request (supported: SELinuxMountSupported, -1: not said) counts first, then the driver's section, then
 * the volume type's. A hostPath is never managed, whatever is said. driver may be NULL. */
Traits plan_find_traits(const Settings *settings, const char *driver, const char *volume_type, AccessMode mode,
                        int supported);

/* Whether volumes may have the context's type. Returns 0, -ENOMEM or TYPE_NOT_ALLOWED. */
int plan_check_label_type(const Settings *settings, const char *context, Failure *f) _warn_unused_;

/* The options of a mount: the caller's, checked, and what a context mount of it needs besides.
 * fs_type may be NULL while it is unknown. Returns 0, -ENOMEM or INVALID_OPTION. */
int plan_mount_options(const Settings *settings, const char *fs_type, Strategy strategy, char *const *options,
                       char ***ret, Failure *f) _warn_unused_;

static inline MarkChange mark_change_max(MarkChange a, MarkChange b) {
        return a > b ? a : b;
}

/* Other users may do this to labels once all files have got one. */
MarkChange plan_change_of_others(const Others *others);

/* A command that finds who keeps a device mounted where it can't be seen. NULL on lack of memory. */
char *plan_describe_search(const char *source, const Observed *observed) _warn_unused_;

/* Fails with BUSY: the device is in use where nobody can see it. Returns BUSY or -ENOMEM. */
int plan_hidden_failure(const char *volume, const char *source, const Observed *observed, Failure *f);

/* How much there is to visit and how long it takes, where it is known; own may be NULL. */
void plan_estimate(const Volume *own, Plan *p);

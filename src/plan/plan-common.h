/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"
#include "model/observed.h"
#include "model/volume.h"

/* The plan, and the functions that plan.c, plan-change.c, plan-conflict.c and plan-group.c share. */

/* A holder or a foreign mount whose use of the volume conflicts with the plan. */
typedef struct Conflict {
        char *volume; /* "" for a foreign mount */
        char *holder; /* "" for a foreign mount */
        char *target;
        Strategy strategy;
        char *context;       /* "" if there is none or it is unknown */
        uint64_t since_usec; /* 0: unknown */
        bool stays;          /* umount(8) ends the holder: its mount stays when its user stops */
} Conflict;

typedef struct Plan {
        Strategy strategy;
        char *context;            /* canonical; "" if unknown or unused */
        const char *runtime_flag; /* "Z" or "" */
        Reason reason;
        char *text;           /* the reason in a sentence */
        char **mount_options; /* the options of the mount, without context=, nosuid and nodev */
        char **kept_options;  /* those of them that the mount shows which this one replaces */
        bool read_only;
        bool renewed; /* the volume is another file system than the recorded one: its record begins anew */
        /* selvol relabels the files, not the runtime: before the mount is visible, or, for an adopted mount,
         * before the reply. files_decide() may find nothing to do. */
        bool relabel_here;
        gid_t fs_group; /* the group that the mount has to show; GID_NONE: none */
        bool readers;   /* the group only needs to read */
        /* none; option; walk: files_decide() may find nothing to do; map: idmap the mount if necessary, but
         * change no file */
        OwnershipAction ownership;
        OwnershipReason ownership_reason;
        /* how this and other users of the volume can weaken the mark: has to be durable before the mount is
         * visible, but after a relabel by selvol */
        MarkChange change;
        const Holder *share; /* clone this holder's mount; owned by the input */
        uint64_t entries;    /* for the walk to visit; 0: none or unknown */
        uint64_t usec;       /* the duration of the walk; 0: none or unknown */
        Conflict *conflicts; /* set on CONTEXT_CONFLICT and GROUP_CONFLICT */
        size_t n_conflicts;
} Plan;

void plan_done(Plan *p);
/* The bytes of the strings of a conflict. */
size_t conflict_count_bytes(const Conflict *c) _pure_;
/* Drops one of the conflicts. */
void plan_drop_conflict(Plan *p, size_t i);

/* Returns the sentence for a reason. */
const char *plan_reason_text(Reason reason);
/* Returns that sentence and says which program has to relabel the files; wanted is the request's RelabelBy.
 * NULL on lack of memory. */
char *plan_describe(const Plan *p, RelabelBy wanted) _warn_unused_;
/* Returns a sentence, after a blank, with the options that avoid a relabel; "" if none is known. */
const char *plan_describe_avoidance(const Plan *p);

/* The sources for other users of a volume: its holders, and the mounts of its superblock. */
typedef struct Others {
        const Volumes *volumes;
        const Volume *own; /* NULL: the volume has no record */
        const Observed *observed;
        const char *target; /* the caller's own, which does not count; "": none */
        bool adopting;      /* the caller adopts the mount at target */
        bool claimed;       /* the caller's job has claimed the volume: no other job works on it */
} Others;

/* Settings for a volume's labels, from the configuration and the request. */
typedef struct Traits {
        bool managed;
        Reason why_not;      /* unless managed */
        bool supports_mount; /* SELinuxMountSupported */
} Traits;

/* Finds these settings: the request (supported: SELinuxMountSupported, -1: not passed) comes first, then the
 * driver's section, then the volume type's. hostPath is never managed. driver may be NULL. */
Traits plan_find_traits(const Settings *settings, const char *driver, const char *volume_type, AccessMode mode,
                        int supported);

/* Makes the context of files from the policy's, with the user and the level; both may be NULL. Returns 0,
 * -ENOMEM, INVALID_CONTEXT, or NOT_SUPPORTED. */
int plan_complete_context(const Node *node, const char *user, const char *level, char **ret,
                          Failure *f) _warn_unused_;

/* Checks that volumes may have the context's type. Returns 0, -ENOMEM or TYPE_NOT_ALLOWED. */
int plan_check_label_type(const Settings *settings, const char *context, Failure *f) _warn_unused_;

/* Makes the options of a mount: the caller's, checked, and further options of a context mount. fs_type may be
 * NULL while it is unknown. Returns 0, -ENOMEM or INVALID_OPTION. */
int plan_mount_options(const Settings *settings, const char *fs_type, Strategy strategy, char *const *options,
                       char ***ret, Failure *f) _warn_unused_;

MarkChange mark_change_max(MarkChange a, MarkChange b);

/* How other users of the volume can weaken the mark after all files got labels. */
MarkChange plan_change_of_others(const Others *others);

/* Says how to find the mount namespaces which keep a device mounted. selvolctl knows the devices of recorded
 * volumes; own: the record, NULL: none. Returns NULL on lack of memory. */
char *plan_describe_search(const Volume *own, const char *source, const Observed *observed) _warn_unused_;

/* Fails: the device is in use, but the worker can't see a mount of it. Returns BUSY or -ENOMEM. */
int plan_hidden_failure(const char *volume, const Volume *own, const char *source, const Observed *observed,
                        Failure *f);

/* Estimates the entries and the duration of a walk, if the record has the number of inodes; own may be
 * NULL. */
void plan_estimate(const Volume *own, Plan *p);

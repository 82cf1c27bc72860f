/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "plan/plan-common.h"

/* The root of a volume as the mount shows it. */
typedef struct FilesSeen {
        const Mark *mark;
        MarkBelief belief;
        const char *root_context; /* canonical; "" or NULL: none */
        gid_t root_gid;           /* as the mount shows it */
        mode_t root_mode;
} FilesSeen;

typedef struct WitnessInput {
        const Settings *settings;
        const Others *others;
        const char *driver, *volume_type; /* driver may be NULL */
        bool shared;                      /* the mount of a holder of the volume is worked through or shared */
        bool adopted;                     /* somebody else has made the mount, and may have made others */
} WitnessInput;

/* selvold's knowledge of who had, and has, the volume. Mounts of parts of it beneath the target roots are
 * kubelet's, for subPath, and nobody else's. Pure. */
Witness plan_witness(const WitnessInput *in) _pure_;

/* All that there is to judge a mark by. */
typedef struct MarkEvidence {
        const Mark *mark;
        ino_t root_inode;
        Fingerprint before; /* of the file system before it was mounted for this operation; not known: it was not */
        Fingerprint now;    /* as it is */
        bool fresh;         /* nobody had it mounted before that */
        bool hidden;        /* somebody has, who can't be seen */
        bool adopted;       /* a driver has mounted it, */
        bool writable;      /* for writing */
        Witness witness;
} MarkEvidence;

/* Whether what the mark says is still so. Pure. Where the mark has the fingerprint (ext4) it is the one
 * before our mount, and nobody but us has mounted it since; of what is adopted, it is the one of now, or
 * the driver's mount is the only one more. Elsewhere the volume has not been out of our hands, or has the
 * fingerprint that was kept. */
MarkBelief files_judge_mark(const MarkEvidence *e) _pure_;

/* Decides whether all files have to be visited, for labels and groups apart. Pure.
 *
 * Labels; the first reason that applies: forced, partial, unknown, tainted, mounted elsewhere, other
 * context, root differs, complete or trusted. The walk is blind only if the mark is complete for another
 * context, not tainted, and the root has that other context.
 *
 * Groups; the first that applies: forced, gate off, policy Always, a file system that keeps no mark
 * (skipped on its root alone where OnRootMismatch was asked for in words, KEP-695), partial, unknown,
 * mounted elsewhere, root differs from the mark; the same group: skip; another one: on disk, user
 * namespace, mounted; map. Where no file may be changed it is a map or nothing.
 *
 * Unknown or lost state is never a reason to skip. */
FilesDecision files_decide(const FilesWanted *wanted, const FilesSeen *seen);

/* After a map that can't be: a walk, or, where no file may be changed, nothing. */
void files_fall_back(const FilesWanted *wanted, OwnershipReason why, FilesDecision *d);

static inline bool files_need_walk(const FilesDecision *d) {
        return d->relabel == RELABEL_WALK || d->ownership == OWNERSHIP_WALK;
}

/* Whether a mount has to be idmapped: one that is shared, and shows the group already, has not. */
static inline bool files_need_map(const FilesWanted *wanted, const FilesDecision *d) {
        return d->ownership == OWNERSHIP_MAP && wanted->swapped_gid == GID_NONE;
}

/* Whether others rely on another group on disk than the decision gives to files; root is the directory of
 * the file system that the volume is, NULL if unknown. Returns 0, GROUP_CONFLICT naming them, -ENOMEM. */
int files_check_reliances(const FilesDecision *d, const char *volume, const char *root, const Reliance *list,
                          size_t n, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "plan/plan-common.h"

/* The root of a volume as the mount shows it. */
typedef struct FilesSeen {
        const Mark *mark;
        MarkTrust trust;
        const char *root_context; /* canonical; "" or NULL: none */
        gid_t root_gid;           /* as the mount shows it */
        mode_t root_mode;
} FilesSeen;

typedef struct MarkHistoryInput {
        const Settings *settings;
        const Others *others;
        const char *driver, *volume_type; /* driver may be NULL */
        bool shared;                      /* the worker uses or shares the mount of a holder */
        bool adopted;                     /* another program made the mount, and may have made more */
} MarkHistoryInput;

/* Collects selvold's knowledge of present and earlier mounts of the volume. Mounts of parts of the volume
 * beneath the target roots are not foreign: kubelet makes them for subPath. Pure. */
MarkHistory plan_mark_history(const MarkHistoryInput *in) _pure_;

/* All facts for judging a mark. */
typedef struct MarkEvidence {
        const Mark *mark;
        Identity identity; /* of the file system of the root, as a mark has it */
        ino_t root_inode;
        Fingerprint before; /* before this operation mounted the file system; unknown: it did not */
        Fingerprint now;    /* of the file system now */
        bool fresh;         /* the file system was not mounted before this operation */
        bool hidden;        /* the worker can't see all mounts of the file system */
        bool adopted;       /* a driver made the mount */
        bool writable;      /* the driver's mount is writable */
        MarkHistory history;
} MarkEvidence;

/* Judges whether the mark is still right. Pure. A mark of another root or file system, or where the file
 * system is not known, is never right. If the mark has a fingerprint (ext4), it has to be the one from before
 * selvol's mount, and only selvol may have mounted the file system since; for an adopted mount it has to be
 * the present one, or the driver's mount has to be the only one since. For other file systems, selvol must
 * have had the volume mounted all the time, or the fingerprint must be the one that selvold kept. */
MarkTrust files_judge_mark(const MarkEvidence *e) _pure_;

/* Decides whether the worker has to visit all files, for labels and groups separately. Pure.
 *
 * Labels, by the first reason that applies: forced, partial, unknown, tainted, mounted elsewhere, other
 * context, root differs, complete or trusted. The walk is blind only if the mark is complete for another
 * context, not tainted, and the root has that other context.
 *
 * Groups, by the first reason that applies: forced, gate off, policy Always, a file system that keeps no mark
 * (skipped if its root is right and the caller passed OnRootMismatch, KEP-695), partial, unknown, mounted
 * elsewhere, root differs from the mark; the same group: skip; another one: on disk, user namespace, mounted;
 * map. If no file may change, the decision is a map or nothing.
 *
 * Unknown or lost state is never a reason to skip. */
FilesDecision files_decide(const FilesWanted *wanted, const FilesSeen *seen);

/* Replaces a map that is impossible by a walk, or by nothing if no file may change. */
void files_fall_back(const FilesWanted *wanted, OwnershipReason why, FilesDecision *d);

bool files_need_walk(const FilesDecision *d) _pure_;

/* Whether the worker has to idmap the mount. A shared mount that shows the group already needs no idmap. */
bool files_need_map(const FilesWanted *wanted, const FilesDecision *d) _pure_;

/* Checks that no other holder relies on another group on disk than the decision gives to the files. root is
 * the volume's directory in the file system, NULL if unknown. Returns 0, GROUP_CONFLICT with a holder in the
 * failure, or -ENOMEM. */
int files_check_reliances(const FilesDecision *d, const char *volume, const char *root, const Reliance *list,
                          size_t n, Failure *f) _warn_unused_;

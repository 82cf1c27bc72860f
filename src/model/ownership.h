/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "model/request.h"
#include "model/volume-record.h"

/* fsGroup: a volume's files are given to a group (Kubernetes' pod.spec.securityContext.fsGroup, KEP-695, KEP-1682,
 * KEP-2317). */

/* What all files of a volume are to have. */
typedef struct Ownership {
        gid_t gid;
        bool read_only; /* the group needs to read only */
        bool any_mode;  /* to compare: modes don't matter, as for a mount for readers, who can't change them */
} Ownership;

/* The mode that an entry ought to have: bits are only ever added, as kubelet does (SetVolumeOwnership()): 0660, or
 * 0440 for reading; directories setgid and 0110 besides. Symbolic links have no mode of their own. */
mode_t ownership_mode(const Ownership *o, mode_t mode) _pure_;
/* Whether an entry has both. Of the root this is kubelet's rule for OnRootMismatch (KEP-695). */
bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) _pure_;

/* How a volume gets its group. */
typedef enum OwnershipAction {
        OWNERSHIP_NONE,   /* it doesn't, or nobody asked for it */
        OWNERSHIP_OPTION, /* by the file system's own option (gid=) when it is mounted */
        OWNERSHIP_SKIP,   /* it has it */
        OWNERSHIP_MAP,    /* by an idmapped mount that swaps it with the one on disk */
        OWNERSHIP_WALK,   /* by a walk over all files */
        OWNERSHIP_ACTIONS,
} OwnershipAction;
DECLARE_STRING_TABLE(ownership_action, OwnershipAction);

/* Why; the words are part of the API. */
typedef enum OwnershipReason {
        OWNERSHIP_NOT_ASKED, /* "" */
        /* none: */
        OWNERSHIP_TYPE_NOT_MANAGED,
        OWNERSHIP_POLICY_NONE,
        OWNERSHIP_READ_ONLY,
        OWNERSHIP_NO_FS_TYPE,
        OWNERSHIP_ACCESS_MODE,
        /* option: */
        OWNERSHIP_POLICY_MOUNT,
        /* skip: */
        OWNERSHIP_COMPLETE,
        /* map: */
        OWNERSHIP_OTHER_GROUP,
        /* walk: */
        OWNERSHIP_FORCED,
        OWNERSHIP_GATE_DISABLED,
        OWNERSHIP_POLICY_ALWAYS,
        OWNERSHIP_PARTIAL,
        OWNERSHIP_UNKNOWN,
        OWNERSHIP_ROOT_DIFFERS,
        OWNERSHIP_FILES_DIFFER,   /* some of the first do */
        OWNERSHIP_REQUESTED,      /* another group; it is to be on disk */
        OWNERSHIP_USER_NAMESPACE, /* another group; the runtime is going to idmap the mount itself */
        OWNERSHIP_MOUNTED,        /* another group; what is mounted already can't be idmapped any more */
        OWNERSHIP_NO_IDMAP,       /* another group; the kernel or the file system can't */
        OWNERSHIP_REASONS,
} OwnershipReason;
DECLARE_STRING_TABLE(ownership_reason, OwnershipReason);

/* The sentence that goes with a reason. */
const char *ownership_reason_text(OwnershipReason reason);

typedef struct OwnershipDecision {
        OwnershipAction action;
        OwnershipReason reason;
} OwnershipDecision;

/* What is known of a volume when its files are about to be given to a group. */
typedef struct OwnershipInput {
        const VolumeRecord *known; /* what can be relied on (volume_record_reconcile()) */
        Ownership wanted;
        gid_t root_gid; /* of the root, on disk */
        mode_t root_mode;
        bool gate; /* SkipFSGroupChange= */
        FSGroupChangePolicy policy;
        bool force;
        bool on_disk; /* it is the files that are to have the group, not a mount */
        bool user_namespace;
        bool mounted; /* what is to be changed is seen by others already */
} OwnershipInput;

/* Decides whether all files have to be visited. The first that applies: forced, gate off, policy Always, partial,
 * unknown, root differs from the record; the same group: skip; another one: on disk, user namespace, mounted; map.
 * Unknown or lost state is never a reason to skip. Pure. */
OwnershipDecision ownership_decide(const OwnershipInput *in);

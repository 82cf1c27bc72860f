/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "model/settings.h"

/* Work on the files of a volume: the service's relabel, and fsGroup. The words are part of the API. */

typedef enum RelabelAction {
        RELABEL_NONE, /* labels are left to others */
        RELABEL_SKIP, /* all files have the label */
        RELABEL_WALK,
        RELABEL_ACTIONS,
} RelabelAction;
DECLARE_STRING_TABLE(relabel_action, RelabelAction);

typedef enum RelabelReason {
        RELABEL_REASON_COMPLETE,      /* skip: complete, this context, not tainted, believed, and the root agrees */
        RELABEL_REASON_TRUSTED,       /* skip: likewise, but believed only because an administrator says so */
        RELABEL_REASON_FORCED,        /* the caller wants all files to be looked at */
        RELABEL_REASON_UNKNOWN,       /* nothing is known of the labels */
        RELABEL_REASON_PARTIAL,       /* a relabel was interrupted, or failed */
        RELABEL_REASON_TAINTED,       /* files may have been made that have no label on disk */
        RELABEL_REASON_ELSEWHERE,     /* others may have had it mounted for writing */
        RELABEL_REASON_OTHER_CONTEXT, /* all files have another context */
        RELABEL_REASON_ROOT_DIFFERS,  /* the mark says complete, but the root's label is another one */
        RELABEL_REASONS,
} RelabelReason;
DECLARE_STRING_TABLE(relabel_reason, RelabelReason);

/* The sentence that goes with a reason. */
const char *relabel_reason_text(RelabelReason reason);

/* fsGroup: the files of a volume are given to a group (Kubernetes' pod.spec.securityContext.fsGroup,
 * KEP-695, KEP-1682, KEP-2317). This is what all files of a volume are to have. */
typedef struct Ownership {
        gid_t gid;
        bool readers; /* the group needs to read only */
} Ownership;

/* The mode that an entry ought to have: bits are only ever added, as kubelet does (SetVolumeOwnership()):
 * 0660, or 0440 for reading; directories setgid and 0110 besides. Symbolic links have no mode of their own.
 */
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
        OWNERSHIP_TRUSTED,   /* likewise, but the mark is believed only because an administrator says so */
        OWNERSHIP_ROOT_ONLY, /* no mark can be kept; the root has it, and the caller asked for OnRootMismatch */
        /* map: */
        OWNERSHIP_OTHER_GROUP,
        /* walk: */
        OWNERSHIP_FORCED,
        OWNERSHIP_GATE_DISABLED,
        OWNERSHIP_POLICY_ALWAYS,
        OWNERSHIP_PARTIAL,
        OWNERSHIP_UNKNOWN,
        OWNERSHIP_ELSEWHERE, /* others may have had it mounted for writing */
        OWNERSHIP_ROOT_DIFFERS,
        OWNERSHIP_FILES_DIFFER,   /* some of those that were compared before a map do */
        OWNERSHIP_REQUESTED,      /* another group; it is to be on disk */
        OWNERSHIP_USER_NAMESPACE, /* another group; the runtime is going to idmap the mount itself */
        OWNERSHIP_MOUNTED,        /* another group; what is mounted already can't be idmapped any more */
        OWNERSHIP_NO_IDMAP,       /* another group; the kernel or the file system can't */
        OWNERSHIP_REASONS,
} OwnershipReason;
DECLARE_STRING_TABLE(ownership_reason, OwnershipReason);

/* The sentence that goes with a reason. */
const char *ownership_reason_text(OwnershipReason reason);

/* The plan's wish for the files; the worker decides by it once it has seen the mount (plan/plan-files.h). */
typedef struct FilesWanted {
        char *context; /* the label that the service gives to all files; NULL or "": labels are left to others */
        gid_t gid;     /* the group that they are to have, as the mount shows it; GID_NONE: none */
        bool readers;  /* which needs to read only */
        OwnershipAction
                ownership; /* walk: skip, map or walk as needed; map: but no file may be changed; option: by the
                                    * file system's option; none */
        OwnershipReason ownership_reason; /* of none and option */
        bool force;                       /* visit all files, whatever the mark says */
        bool gate;                        /* SkipFSGroupChange= */
        FSGroupChangePolicy policy;
        bool policy_given;   /* by the caller, in words */
        bool user_namespace; /* the runtime is going to idmap the mount itself */
        bool on_disk;        /* it is the files that are to have the group, not a mount */
        bool mounted;        /* what is to be changed is seen by others already */
        gid_t swapped_gid;   /* the mount that is shared shows gid in the place of this one; GID_NONE: it doesn't */
} FilesWanted;

#define FILES_WANTED_INIT ((FilesWanted){ .gid = GID_NONE, .swapped_gid = GID_NONE })

/* The decision, and in the end the outcome. */
typedef struct FilesDecision {
        RelabelAction relabel;
        RelabelReason relabel_reason; /* unless RELABEL_NONE */
        bool blind;                   /* all files are known to have another label: write without comparing */
        OwnershipAction ownership;
        OwnershipReason ownership_reason;
        gid_t gid;      /* as the mount shows it; GID_NONE: the files are for no group */
        gid_t disk_gid; /* that they have, or get, on disk; GID_NONE likewise */
} FilesDecision;

/* Somebody else who relies on the group that files have on disk. */
typedef struct Reliance {
        gid_t gid;
        char *root;   /* the directory of the file system that is used; NULL: the files of this very volume */
        char *who;    /* in words, for a message */
        char *volume; /* of the holder; NULL: this very volume */
} Reliance;

void reliances_free(Reliance *list, size_t n);

/* --- how a walk over all files went, as it is told --- */

/* One walk names so many at most. */
enum { WALK_ISSUES_MAX = 16, WALK_SUBMOUNTS_MAX = 64 };

typedef struct WalkCounts {
        uint64_t done;       /* entries visited, the root among them */
        uint64_t changed;    /* of them */
        uint64_t mismatched; /* labels that differ */
        uint64_t misowned;   /* groups or modes that differ */
        uint64_t failed;     /* errors, of whatever kind */
        uint64_t skipped;    /* hard links that may lead out of the volume, not changed; those that became links
                              * meanwhile count as one */
        uint64_t modified;   /* directories that were still being modified at the second look, so that entries that
                              * were moved may have been missed */
} WalkCounts;

/* An entry that could not be visited, or that differs. Both strings are printable, one line each. */
typedef struct WalkIssue {
        char *path; /* beneath the root, "." for the root, escaped; a very long one begins with an ellipsis */
        char *text;
        int error; /* positive errno; 0 for an entry that differs. selvold is told the text alone */
} WalkIssue;

typedef struct WalkResult {
        WalkCounts counts;
        WalkIssue *issues; /* the first ones */
        size_t n_issues;
        char **submounts; /* what is mounted inside and was not entered, escaped */
} WalkResult;

void walk_result_done(WalkResult *r);

/* "a, b: why; c: why; and 5 more": the issues by cause, about as many as are pleasant to read. The names
 * are those of tenants: whatever their length, the text is no longer than some 3 KB. NULL on lack of
 * memory. */
char *walk_describe_failures(const WalkResult *r) _warn_unused_;

/* Whether every entry was visited, and none failed. */
static inline bool walk_is_complete(const WalkCounts *c) {
        return c->failed == 0 && c->skipped == 0 && c->modified == 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "model/settings.h"

/* Work on the files of a volume: relabeling by selvol, and fsGroup. The words of the enums are part of the
 * API. */

typedef enum RelabelAction {
        RELABEL_NONE, /* selvol changes no labels */
        RELABEL_SKIP, /* all files have the label already */
        RELABEL_WALK,
        RELABEL_ACTIONS,
} RelabelAction;
DECLARE_STRING_TABLE(relabel_action, RelabelAction);

typedef enum RelabelReason {
        RELABEL_REASON_COMPLETE,      /* skip: the mark (complete, trusted, untainted) and the root agree */
        RELABEL_REASON_TRUSTED,       /* skip: the same, but trusted only because of TrustedMark=yes */
        RELABEL_REASON_FORCED,        /* the caller wants selvol to check all files */
        RELABEL_REASON_UNKNOWN,       /* the labels are unknown */
        RELABEL_REASON_PARTIAL,       /* a relabel was interrupted, or failed */
        RELABEL_REASON_TAINTED,       /* files may exist that have no label on disk */
        RELABEL_REASON_ELSEWHERE,     /* another program may have mounted the volume for writing */
        RELABEL_REASON_OTHER_CONTEXT, /* all files have another context */
        RELABEL_REASON_ROOT_DIFFERS,  /* the mark is complete, but the root has another label */
        RELABEL_REASONS,
} RelabelReason;
DECLARE_STRING_TABLE(relabel_reason, RelabelReason);

/* Returns the sentence for a reason. */
const char *relabel_reason_text(RelabelReason reason);

/* fsGroup: all files of a volume belong to a group (Kubernetes' pod.spec.securityContext.fsGroup, KEP-695,
 * KEP-1682, KEP-2317). The struct has the group that all files of a volume should have. */
typedef struct Ownership {
        gid_t gid;
        bool readers; /* the group only needs to read */
} Ownership;

/* Returns the mode that an entry should have. Like kubelet (SetVolumeOwnership()), selvol only adds bits:
 * 0660, or 0440 for readers; for directories also setgid and 0110. Symbolic links have no mode of their
 * own. */
mode_t ownership_mode(const Ownership *o, mode_t mode) _pure_;
/* Whether an entry has the group and the mode. For the root, this is kubelet's rule for OnRootMismatch
 * (KEP-695). */
bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) _pure_;

/* How a volume gets its group. */
typedef enum OwnershipAction {
        OWNERSHIP_NONE,   /* the group does not change, or the caller asked for none */
        OWNERSHIP_OPTION, /* by the file system's mount option (gid=) */
        OWNERSHIP_SKIP,   /* the files have the group already */
        OWNERSHIP_MAP,    /* by an idmapped mount that swaps the group with the one on disk */
        OWNERSHIP_WALK,   /* by a walk over all files */
        OWNERSHIP_ACTIONS,
} OwnershipAction;
DECLARE_STRING_TABLE(ownership_action, OwnershipAction);

/* The reason for an action; the words are part of the API. */
typedef enum OwnershipReason {
        OWNERSHIP_NOT_ASKED, /* the word is "" */
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
        OWNERSHIP_TRUSTED,   /* the same, but the mark is trusted only because of TrustedMark=yes */
        OWNERSHIP_ROOT_ONLY, /* no mark is possible, the root has the group, and OnRootMismatch is passed */
        /* map: */
        OWNERSHIP_OTHER_GROUP,
        /* walk: */
        OWNERSHIP_FORCED,
        OWNERSHIP_GATE_DISABLED,
        OWNERSHIP_POLICY_ALWAYS,
        OWNERSHIP_PARTIAL,
        OWNERSHIP_UNKNOWN,
        OWNERSHIP_ELSEWHERE, /* another program may have mounted the volume for writing */
        OWNERSHIP_ROOT_DIFFERS,
        OWNERSHIP_FILES_DIFFER,   /* some files that the worker compared before a map have another group */
        OWNERSHIP_REQUESTED,      /* another group; the caller wants the group on disk */
        OWNERSHIP_USER_NAMESPACE, /* another group; the runtime will idmap the mount itself */
        OWNERSHIP_MOUNTED,        /* another group; a visible mount can't be idmapped any more */
        OWNERSHIP_NO_IDMAP,       /* another group; the kernel or the file system can't idmap */
        OWNERSHIP_REASONS,
} OwnershipReason;
DECLARE_STRING_TABLE(ownership_reason, OwnershipReason);

/* Returns the sentence for a reason. */
const char *ownership_reason_text(OwnershipReason reason);

/* The plan's instructions for the files. The worker looks at the mount and then decides
 * (plan/plan-files.h). */
typedef struct FilesWanted {
        char *context; /* the label that selvol gives to all files; NULL or "": selvol changes no labels */
        gid_t gid;     /* the group that the mount has to show for all files; GID_NONE: none */
        bool readers;  /* the group only needs to read */
        /* walk: the worker skips, maps or walks; map: the worker maps or does nothing, and changes no file;
         * option: the mount option gives the group; none */
        OwnershipAction ownership;
        OwnershipReason ownership_reason; /* for none and option */
        bool force;                       /* visit all files, even if the mark is complete */
        bool gate;                        /* SkipFSGroupChange= */
        FSGroupChangePolicy policy;
        bool policy_given;   /* the caller passed the policy */
        bool user_namespace; /* the runtime will idmap the mount itself */
        bool on_disk;        /* the files must have the group on disk; a map is not enough */
        bool mounted;        /* other programs can see the mount already */
        gid_t swapped_gid;   /* the group on disk that the shared mount shows as gid; GID_NONE: none */
} FilesWanted;

#define FILES_WANTED_INIT ((FilesWanted){ .gid = GID_NONE, .swapped_gid = GID_NONE })

/* The worker's decision, and finally the outcome. */
typedef struct FilesDecision {
        RelabelAction relabel;
        RelabelReason relabel_reason; /* unless RELABEL_NONE */
        bool blind;                   /* all files have another label: write without comparing */
        OwnershipAction ownership;
        OwnershipReason ownership_reason;
        gid_t gid;      /* the group that the mount shows; GID_NONE: selvol gives no group */
        gid_t disk_gid; /* the group that the files have, or get, on disk; GID_NONE: none */
} FilesDecision;

/* Another holder that relies on the group of the files on disk. */
typedef struct Reliance {
        gid_t gid;
        char *root;   /* the directory that the holder has mounted; NULL: the same volume */
        char *use;    /* the holder in words, and how it ends, for a message: plan_describe_use() */
        char *end;    /* plan_describe_end() */
        char *volume; /* the holder's volume; NULL: the same volume */
} Reliance;

void reliances_free(Reliance *list, size_t n);

/* --- the result of a walk over all files --- */

/* The most that one result names. */
enum { WALK_ISSUES_MAX = 16, WALK_SUBMOUNTS_MAX = 64 };

typedef struct WalkCounts {
        uint64_t done;       /* entries visited, including the root */
        uint64_t changed;    /* entries changed */
        uint64_t mismatched; /* entries with another label */
        uint64_t misowned;   /* entries with another group or mode */
        uint64_t failed;     /* errors of any kind */
        /* hard links that may lead out of the volume: the walk did not change them; those that became links
         * during the walk count as one */
        uint64_t skipped;
        /* directories that were still changing at the second look: the walk may have missed entries that were
         * moved */
        uint64_t modified;
} WalkCounts;

/* An entry that the walk could not visit, or that differs. Both strings are printable, one line each. */
typedef struct WalkIssue {
        char *path; /* relative to the root ("."), escaped; a very long one begins with an ellipsis */
        char *text;
        int error; /* positive errno; 0: the entry differs. Not sent to selvold */
} WalkIssue;

typedef struct WalkResult {
        WalkCounts counts;
        WalkIssue *issues; /* the first ones */
        size_t n_issues;
        char **submounts; /* mounts inside that the walk did not enter, escaped */
} WalkResult;

void walk_result_done(WalkResult *r);

/* Describes the first issues, grouped by cause: "a, b: why; c: why; and 5 more". Tenants choose the names of
 * files, so the text has a limit of some 3 KB. Returns NULL on lack of memory. */
char *walk_describe_failures(const WalkResult *r) _warn_unused_;

/* Whether the walk visited every entry without an error. */
static inline bool walk_is_complete(const WalkCounts *c) {
        return c->failed == 0 && c->skipped == 0 && c->modified == 0;
}

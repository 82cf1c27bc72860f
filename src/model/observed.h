/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/failure.h"
#include "model/mark.h"

/* The worker saw this of the node, of a source, of a mount. Facts, no decisions. */

typedef struct Node {
        bool selinux; /* is SELinux on? */
        bool enforcing;
        bool mls;           /* do contexts have levels? */
        char *file_context; /* the policy's context for container files; NULL if it names none */
} Node;

/* One mount of a superblock, or at a target. */
typedef struct MountFact {
        char *target;
        char *source;
        char *fs_type;
        char *device;  /* "major:minor" */
        char *root;    /* the directory of the file system that is mounted: "/" for all of it */
        char *context; /* of context=, canonical; "" if mounted without */
        bool seclabel;
        bool read_only;
        bool superblock_read_only; /* for the worker, not on the wire */
        /* For the watch alone: the mount that hides it, described, and the first place outside of the
         * target roots where its files are mounted too; NULL or "" if there is none. */
        char *covered_by, *also_at;
        char *volume; /* likewise: whose the worker has noted this very mount as; NULL or "": it has not */
        uint64_t mount_id;
        uint64_t note_id; /* MountNote.unique_id, 0: not noted; for the worker, not on the wire */
} MountFact;

typedef struct Observed {
        char *fs_type; /* found on the source, or as asked for; NULL if not looked at */
        bool device_read_only;
        char *device; /* "8:17", of a source that is a block device, whatever it is called; otherwise NULL */
        /* The superblock to come, for claims: "device:8:17", "image:DEVICE:INODE", "btrfs:UUID"; NULL for
         * network file systems and those without a source, where each mount gets one of its own. */
        char *superblock;
        MountFact *mounts; /* of the source's superblock, wherever they are */
        size_t n_mounts;
        bool mounts_unknown; /* the superblock is in use, and nobody has looked for its mounts yet */
        bool hidden;         /* it is in use, and no mount of it can be seen from here */
} Observed;

/* A mount as the kernel has it, read back. */
typedef struct MountOutcome {
        MountFact fact;
        char *root_context; /* the root's label, canonical; "" if it has none */
        gid_t root_gid;     /* as the mount shows it */
        mode_t root_mode;
        bool superblock_read_only;
        uint64_t inodes_used;  /* 0: the file system doesn't say */
        ino_t root_inode;      /* for the worker, not on the wire */
        MarkProof proof;       /* of what the mark says; likewise */
        bool overrides_labels; /* by defcontext= or rootcontext=; for the worker, not on the wire */
        bool idmapped;         /* likewise */
} MountOutcome;

void node_done(Node *n);
void mount_fact_done(MountFact *m);
/* Returns NULL. */
MountFact *mount_facts_free(MountFact *facts, size_t n);
void observed_done(Observed *o);
void mount_outcome_done(MountOutcome *o);

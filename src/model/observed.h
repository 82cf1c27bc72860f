/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/failure.h"
#include "model/mark.h"

/* Facts that the worker observed about the node, a source and a mount. No decisions. */

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
        char *root;    /* the directory that is mounted; "/": all of the file system */
        char *context; /* the value of context=, canonical; "" if the mount has none */
        bool seclabel;
        bool read_only;
        bool superblock_read_only; /* not sent to selvold */
        /* Only for the watch: covered_by describes the mount on top of this one, also_at is the first place
         * outside of the target roots where the same files are mounted. NULL or "": none. */
        char *covered_by, *also_at;
        char *volume;      /* only for the watch: the volume in the worker's note; NULL or "": no note */
        bool beside;       /* only for the watch: of a noted mount, others may write to its file system */
        bool note_adopted; /* MountNote.adopted; not sent to selvold */
        uint64_t mount_id;
        uint64_t note_id; /* MountNote.unique_id; 0: no note; not sent to selvold */
        /* The first mount of those that the kernel keeps alike (mount/overlap.h); 0: there is no other. Not
         * sent to selvold. */
        uint64_t peer_id;
} MountFact;

typedef struct Observed {
        char *fs_type; /* found on the source, or requested; NULL if the worker did not look */
        bool device_read_only;
        char *device; /* "8:17" if the source is a block device, by any name; otherwise NULL */
        /* The superblock that a mount of the source uses, for claims: "device:8:17", "image:DEVICE:INODE",
         * "btrfs:UUID" if it has several devices. NULL for network file systems and those without a source:
         * each of their mounts has its own superblock. */
        char *superblock;
        Identity identity; /* of the file system; without the subvolume if it is not mounted */
        char *link;        /* the block device's own link (mount/device.h); NULL: none */
        /* The recorded file system is another one, and still on this node: its own link. NULL: not
         * so, or not known. */
        char *elsewhere;
        /* The options of the mount at the target that the new mount replaces, which is not among the mounts
         * then: as a mount with the same effect needs them, and "ro". NULL: none. */
        char **replaced;
        MountFact *mounts; /* all mounts of the source's superblock */
        size_t n_mounts;
        bool mounts_unknown; /* the superblock is in use, but the worker has not looked for its mounts */
        bool hidden;         /* the superblock is in use, but the worker can't see a mount of it */
} Observed;

/* A mount, read back from the kernel. */
typedef struct MountOutcome {
        MountFact fact;
        char *root_context; /* the root's label, canonical; "" if it has none */
        gid_t root_gid;     /* as the mount shows it */
        mode_t root_mode;
        bool superblock_read_only;
        uint64_t inodes_used;  /* 0: unknown */
        Identity identity;     /* of the file system */
        ino_t root_inode;      /* not sent to selvold */
        MarkProof proof;       /* about the mark; not sent to selvold */
        bool overrides_labels; /* by defcontext= or rootcontext=; not sent to selvold */
        bool idmapped;
        bool exclusive; /* nobody else has the superblock, says the kernel; not sent to selvold */
} MountOutcome;

void node_done(Node *n);
void mount_fact_done(MountFact *m);
/* Returns NULL. */
MountFact *mount_facts_free(MountFact *facts, size_t n);
void observed_done(Observed *o);
void mount_outcome_done(MountOutcome *o);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/detached.h"
#include "model/files.h"
#include "worker/child.h"

/* The private mount: an operation works on a mount that nobody else sees.
 *
 * Others can enter a visible mount before its label is verified and while its files are changed; the mount
 * may contain other mounts, and others may exchange paths in it. So an operation reaches all files from the
 * root of a mount that is in no mount namespace and has no path:
 *
 *   - A staged mount is made for the operation (private_mount_stage()). operation_mount() attaches the staged
 *     mount to the target (publish_mount()) after the label is verified, files and mark are right, the mount
 *     is noted (mount/mount-note.h), and selvold has recorded its identity (ask_ready()). If a step fails,
 *     nobody has seen the mount. operation_change() never attaches it.
 *   - A live private mount is a copy of a visible mount (private_mount_copy()), without the mounts inside: a
 *     walk does not enter them, and reaches the files that they cover. Others see the same files, so the copy
 *     is never idmapped.
 *
 * The kernel unmounts a detached mount when its last descriptor is closed. So if the child is killed at any
 * time, no staged mount and no copy stays; an attached mount stays, and so does its note. Changes of files
 * stay, and the mark claims no more than is true of them (label/mark-xattr.h). Helpers such as mount.nfs may
 * outlive the child: the server ends the helpers before it ends the connection. */
typedef struct PrivateMount {
        int tree;         /* the detached mount */
        int root;         /* the mount's root, open for reading */
        bool live;        /* a copy: others see the same files */
        bool part;        /* the root is a directory of a larger file system */
        bool contended;   /* others have the file system mounted; set by private_mount_check_change() */
        char **submounts; /* mounts beneath the root of the copied mount; likewise */
} PrivateMount;

#define PRIVATE_MOUNT_INIT ((PrivateMount){ .tree = -EBADF, .root = -EBADF })

/* Called before the operation replies, because the caller may unmount right after the reply. */
void private_mount_done(PrivateMount *s);

/* Copies the mount of an open target. Returns 0, a negative errno, or NOT_SUPPORTED. */
int private_mount_copy(const Target *target, CloneMode mode, PrivateMount *ret, Failure *f) _warn_unused_;

/* Mounts the source as selvold's answer says, detached; to share a mount, clones it or mounts the source
 * again. question: the question of the answer. *ret_outcome: the mount as the kernel shows it, without the
 * root. Returns 0, a negative errno, after which the process may be in the wrong namespace and must end, or a
 * failure kind. */
int private_mount_stage(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                        PrivateMount *ret, MountOutcome *ret_outcome, Failure *f) _warn_unused_;

/* Checks that the worker may write to the root: the configuration has the file system's type, and the host
 * does not use the file system. Returns 0, a negative errno, TYPE_NOT_ALLOWED or PATH_NOT_ALLOWED. */
int private_mount_check(const Child *c, const PrivateMount *s, const MountOutcome *o, Failure *f) _warn_unused_;

/* Checks everything that must be right before the first file is changed, and completes the private mount.
 * Returns as private_mount_check() and foreign_check(), and NOT_SUPPORTED: the mount shows other labels or
 * groups than the disk has, or is read-only. */
int private_mount_check_change(const Child *c, PrivateMount *s, const MountOutcome *o, const FilesDecision *d,
                               Failure *f) _warn_unused_;

/* Fails with NOT_SUPPORTED if an option of the mount makes files show labels that are not on disk. */
int private_mount_check_overridden(bool overrides_labels, Failure *f) _warn_unused_;

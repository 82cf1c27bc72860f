/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"
#include "mount/target.h"

/* A mount is staged, verified and published, so that nobody sees one that is not what was asked for:
 *
 * - staged: the superblock is made, or shared, and its mount is in no mount namespace, or in one that goes
 *   with the child. Only a descriptor keeps it;
 * - verified: what the kernel has made is compared with what was asked for, and with the source that was
 *   checked. Then the worker judges the mark, and changes labels and owners, while nobody else can;
 * - published: the mount's identity is noted (mount-note.h) and on record with selvold; then publish_mount()
 *   attaches it to the target, which is one step for the kernel.
 *
 * A crash of the child before the last step leaves no mount: it goes with its descriptor, and with it the
 * superblock and the loop device, if they are nobody else's. On disk the mark says no more than what has been
 * done to the files. If it was noted already, the note and the record name a mount that the mount table does
 * not have, and are dropped. A crash after the last step leaves a mount that the note and the record name:
 * selvold unmounts it or, if it has crashed too, finds it in the mount table when it starts again. */

/* Stages and verifies a mount, nosuid and nodev: by a file system context (stage-source.h), or with
 * libmount in a mount namespace of its own (stage-namespace.h), which is gone when this returns. *ret_tree is
 * the mount, detached; closing it undoes everything. *ret is what the kernel makes of it, without
 * root_context. Must be called by a process of one thread with CAP_SYS_ADMIN and CAP_SYS_CHROOT (setns(2)).
 * Returns 0; a negative errno, after which the process may be left in the wrong namespace and must end;
 * MOUNT_FAILED; BUSY; CONTEXT_CONFLICT, naming the other mount; CONTEXT_DROPPED if the mount does not have
 * the requested context. */
int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) _warn_unused_;

/* The same, once more, for the directory that is mounted at share, if that has spec's source and context:
 * of the same superblock where that can be, or else a clone of the mount. Per-mount options are spec's; a
 * read-only superblock is made writable, and stays so, unless spec is read-only. */
int stage_share(const StageSpec *spec, const Target *share, int *ret_tree, MountOutcome *ret,
                Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"
#include "mount/target.h"

/* A mount is staged, verified and published, so nobody sees a mount that differs from the request:
 *
 * - staged: the superblock is made or shared, and its mount is detached, or in a mount namespace that ends
 *   with the child. Only a descriptor keeps the mount;
 * - verified: the worker compares the mount with the request, and with the source that was checked, then
 *   judges the mark and changes labels and owners, while nobody else can see the mount;
 * - published: the worker notes the mount's identity (mount-note.h), selvold records it, and publish_mount()
 *   attaches the mount to the target, in one step.
 *
 * If the child crashes before the last step, the mount ends with its descriptor, and so do the superblock and
 * the loop device, if nobody else uses them. The mark on disk claims no more than was done to the files. A
 * record of this mount is dropped, because the mount table does not have the mount; a note may stay
 * (mount-note.h). After the last step the mount stays, with its note and record: selvold unmounts the mount
 * or, after a crash of selvold, finds it in the mount table at the next start. */

/* Stages and verifies a mount with nosuid and nodev: by a file system context (stage-source.h), or with
 * libmount in a separate mount namespace (stage-namespace.h) that is gone when this returns. *ret_tree is the
 * detached mount; closing it undoes everything. *ret is the mount as the kernel shows it, without
 * root_context. A superblock that is read-only because holders read is made writable, and stays so, unless
 * spec is read-only. The caller has one thread, CAP_SYS_ADMIN and CAP_SYS_CHROOT (setns(2)). Returns 0; a
 * negative errno, after which the process may be in the wrong namespace and must end; MOUNT_FAILED; BUSY;
 * CONTEXT_CONFLICT, naming the other mount; CONTEXT_DROPPED if the mount does not have the requested
 * context. */
int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) _warn_unused_;

/* The same for the directory that is mounted at share, if share has spec's source and context: mounts the
 * superblock again if possible, otherwise clones the mount. Attributes are spec's; a read-only superblock is
 * made writable, and stays so, unless spec is read-only. */
int stage_share(const StageSpec *spec, const Target *share, int *ret_tree, MountOutcome *ret,
                Failure *f) _warn_unused_;

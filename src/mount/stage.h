/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/attach.h"
#include "mount/target.h"

/* Mounts with libmount, nosuid and nodev, in a mount namespace of its own (stage-namespace.h), which is gone when this
 * returns, so that no one else sees the mount. *ret_tree is the mount, detached; closing it undoes everything. *ret is what the kernel
 * reports of it, without root_context. Must be called by a process of one thread with CAP_SYS_ADMIN and
 * CAP_SYS_CHROOT (setns(2)). Returns 0; a negative errno, after which the process may be left in the wrong namespace
 * and must end; MOUNT_FAILED; CONTEXT_CONFLICT, naming the other mount; CONTEXT_DROPPED if the mount does not have
 * the requested context. */
int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) _warn_unused_;

/* The same by cloning the mount at share, if it still is the one with the id and has spec's source and context.
 * Per-mount options are spec's; a read-only superblock is made writable, and stays so, unless spec is read-only. */
int stage_clone(const StageSpec *spec, const Target *share, uint64_t share_id, int *ret_tree, MountOutcome *ret,
                Failure *f) _warn_unused_;

/* Makes a detached mount read-only or writable; nothing else of it changes, nor does the file system. Returns 0 or a
 * negative errno. */
int stage_set_read_only(int tree, bool read_only) _warn_unused_;

/* What the kernel reports of the mount whose root fd is; root_context is left NULL. target is copied to the fact.
 * Returns 0 or a negative errno. */
int stage_read_back(int fd, const char *target, MountOutcome *ret) _warn_unused_;

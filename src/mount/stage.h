/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"
#include "mount/target.h"

/* Mounts, nosuid and nodev, so that no one else sees it: by a file system context (stage-source.h), or with
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/attach.h"
#include "mount/target.h"

/* Mounts where nobody sees it: in a mount namespace of its own, which is gone when this returns, with libmount,
 * nosuid and nodev. *ret_tree is the mount, detached; closing it undoes all. *ret holds what the kernel says of it,
 * but for root_context. Must be called by a process of one thread with CAP_SYS_ADMIN and CAP_SYS_CHROOT (setns(2)).
 * Returns 0; a negative errno, after which the process may be left in the wrong namespace and must end; MOUNT_FAILED;
 * CONTEXT_CONFLICT, naming the mount that stands in the way; CONTEXT_DROPPED if the kernel's mount has another
 * context than asked for. */
int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) _warn_unused_;

/* The same from a mount that exists, at share, if it still is the one with the id and has the source and context
 * wanted. Per-mount options are spec's; the superblock is made writable if spec is to write and it isn't, and is left
 * so. */
int stage_clone(const StageSpec *spec, const Target *share, uint64_t share_id, int *ret_tree, MountOutcome *ret,
                Failure *f) _warn_unused_;

/* What the kernel says of the mount that fd, of its root, is on; root_context is left NULL. target is what the fact
 * is to name. Returns 0 or a negative errno. */
int stage_read_back(int fd, const char *target, MountOutcome *ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-spec.h"

/* Mounting by a file system context, fsopen(2): the mount is in no namespace until it is published, and the kernel says in
 * words why it can't be made. */

/* Whether a type is mounted that way: those that were seen to work, on Linux 6.1, 6.12 and 6.18. */
bool fs_context_takes(const char *fs_type, bool with_context);

/* Whether this kernel can do it: a tmpfs is made. */
bool fs_context_is_supported(void);

/* Mounts spec, without attributes but nosuid and nodev. exclusive: fail with EBUSY where that would share a superblock that
 * is mounted already, which kernels before 6.6 can't tell. *ret_tree is the mount, detached; *ret_source what the mount
 * table will name as its source; the caller's both. Returns 0, a negative errno, or MOUNT_FAILED with *ret_errno filled:
 * EINVAL also for options that only libmount knows. */
int fs_context_mount(const StageSpec *spec, bool exclusive, int *ret_tree, char **ret_source, int *ret_errno,
                     Failure *f) _warn_unused_;

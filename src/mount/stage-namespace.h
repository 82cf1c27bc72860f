/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"

/* The second way to stage: in a mount namespace, by libmount. A copy of the host's namespace costs as much as
 * there are mounts; so the worker makes one with few mounts when it starts, and children copy that. */

/* A namespace with the caller's root directory and, where they are mounts, /dev, /proc, /run, /sys and /usr,
 * without what is mounted beneath. directory is where it is built: it may be empty, and only root may reach
 * it. *ret is a descriptor of it. Returns 0 or a negative errno: -EINVAL if the root directory is no mount,
 * or the initial ramfs (pivot_root(2)). */
int stage_namespace_make(const char *directory, int *ret) _warn_unused_;

/* Enters a copy of the namespace, or of the caller's own if it is -EBADF. *ret_host leads back. Both are for
 * a process of one thread with CAP_SYS_ADMIN and CAP_SYS_CHROOT (setns(2)), which after an error may be in
 * the wrong namespace and must end. Return 0 or a negative errno. */
int stage_namespace_enter(int namespace, int *ret_host) _warn_unused_;
int stage_namespace_leave(int host) _warn_unused_;

/* Mounts on spec's directory, in whatever namespace the caller is in, by libmount: mount(2), or the helper
 * mount.TYPE. An image is mounted over a loop device, which is detached with the mount. fstab and utab are
 * not used. Returns 0, a negative errno, or MOUNT_FAILED with *ret_errno filled: 0 if a helper failed,
 * which has said why on its standard error. */
int libmount_mount(const StageSpec *spec, int *ret_errno, Failure *f) _warn_unused_;

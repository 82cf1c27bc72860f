/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"

/* The second way to stage: libmount mounts in a separate mount namespace. Copying the host's namespace costs
 * time for each mount, so the worker makes a namespace with few mounts at start, and children copy that. */

/* Makes a namespace with the caller's root directory and, if they are mounts, /dev, /proc, /run, /sys and
 * /usr, without mounts beneath. The namespace is built at directory, which may be empty and which only root
 * may reach. *ret is a descriptor of the namespace. Returns 0 or a negative errno: -EINVAL if the root
 * directory is no mount, or the initial ramfs (pivot_root(2)). */
int stage_namespace_make(const char *directory, int *ret) _warn_unused_;

/* Enters a copy of the namespace, or of the caller's if namespace is -EBADF. *ret_host leads back. Both
 * functions need a process of one thread with CAP_SYS_ADMIN and CAP_SYS_CHROOT (setns(2)); after an error the
 * process may be in the wrong namespace and must end. Return 0 or a negative errno. */
int stage_namespace_enter(int namespace, int *ret_host) _warn_unused_;
int stage_namespace_leave(int host) _warn_unused_;

/* Mounts on spec->staging->directory, in the caller's namespace, by libmount: mount(2), or the helper
 * mount.TYPE. loop: the path of the loop device over the source, if the source is an image. fstab and utab
 * are not used. Returns 0, a negative errno, or MOUNT_FAILED with *ret_errno set: 0 if a helper failed,
 * which has printed the reason to standard error. */
int libmount_mount(const StageSpec *spec, const char *loop, int *ret_errno, Failure *f) _warn_unused_;

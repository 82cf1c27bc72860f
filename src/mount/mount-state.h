/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"

/* Reads the state of a mount through an open file: the attributes and options that the kernel shows, and
 * whether the file system still works. */

/* Reads the mount with root fd from the mount table. Copies target to the fact; leaves root_context NULL.
 * Returns 0 or a negative errno. */
int read_back_mount(int fd, const char *target, MountOutcome *ret) _warn_unused_;

/* Reads the same from a new detached mount of source, which is in no mount table: whether its root has the
 * wanted context, and the kernel refuses other labels for all files. Returns 1; 0 if the mount does not show
 * everything: without a context while SELinux is on, read-only, or btrfs; or a negative errno. */
int read_back_detached(const StageSpec *spec, int tree, const char *source, MountOutcome *ret) _warn_unused_;

/* Checks that a mounted file system still works: no mount table shows a missing device, or a shutdown after
 * an error. fd is open in the file system, maybe with O_PATH; path (target or source) is for messages. Only
 * logs errors that ext4 has counted since its last check. Returns 0, a negative errno, or MOUNT_FAILED. */
int health_check(int fd, const char *path, Failure *f) _warn_unused_;

/* Explains a negative errno of an access to path. Returns MOUNT_FAILED after a shutdown, or without the
 * device; otherwise the errno, or -ENOMEM. */
int health_explain_errno(int error, const char *path, Failure *f) _warn_unused_;

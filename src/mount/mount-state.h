/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"

/* The state of a mount, asked of an open file in it: what the kernel has made of it, and whether its file
 * system still works. */

/* Reads what the kernel makes of the mount that fd is the root of, by the mount table. target is copied to
 * the fact; root_context is left NULL. Returns 0 or a negative errno. */
int read_back_mount(int fd, const char *target, MountOutcome *ret) _warn_unused_;

/* Reads the same of a detached mount that was made from source just now, by asking the mount, which is in no
 * mount table: whether its root has the context that was asked for, and whether no file can be given another
 * one. Returns 1; 0 if that doesn't tell everything: without a context where SELinux is on, read-only, or of
 * btrfs; or a negative errno. */
int read_back_detached(const StageSpec *spec, int tree, const char *source, MountOutcome *ret) _warn_unused_;

/* Whether a mounted file system still works: no mount table tells of a device that has gone, or of a shutdown
 * after an error. fd is open in it, maybe with O_PATH; path is for messages, its target or its source. Errors
 * that ext4 has noted since it was checked last are logged, and nothing more. Returns 0, a negative errno, or
 * MOUNT_FAILED. */
int health_check(int fd, const char *path, Failure *f) _warn_unused_;

/* Says what a negative errno of a look at path means for the file system there. Returns MOUNT_FAILED after a
 * shutdown, or without the device; otherwise the errno, or -ENOMEM. */
int health_explain_errno(int error, const char *path, Failure *f) _warn_unused_;

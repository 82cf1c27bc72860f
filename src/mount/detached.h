/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "mount/target.h"

/* A mount that is in no mount namespace, as open_tree(2) and fsmount(2) make it: its attributes, as opposed
 * to the options of its file system (mount_setattr(2)); copies of mounts; and how one becomes visible. */

/* Gives a detached mount nosuid and nodev, and of the others those that are among the options; a clone
 * comes with those of what it was made from. Returns 0 or a negative errno. */
int attributes_set(int tree, char *const *options, bool read_only) _warn_unused_;

/* Makes a detached mount read-only or writable; nothing else of it changes, nor does the file system.
 * Returns likewise. */
int attributes_set_read_only(int tree, bool read_only) _warn_unused_;

/* A private copy of a mount, to read or to change: it does not contain the mounts inside, so that they
 * can't be entered and what they cover can be seen; no one else can mount anything there; and no access
 * time changes. */

typedef enum CloneMode {
        CLONE_READ_ONLY,
        CLONE_AS_IT_IS, /* read-only if the mount is */
        CLONE_WRITABLE, /* unless the file system is read-only */
} CloneMode;

typedef struct Clone {
        int tree; /* keeps the mount */
        int root; /* open for reading */
} Clone;

#define CLONE_INIT ((Clone){ .tree = -EBADF, .root = -EBADF })

/* Copies the mount that fd, a directory, is on, from that directory downwards. CAP_SYS_ADMIN. Returns 0 or
 * a negative errno; -EINVAL for a mount that can't be copied, mount(2), MS_UNBINDABLE. */
int clone_open(int fd, CloneMode mode, Clone *ret) _warn_unused_;

/* Whether an open directory is part of a larger file system, so that files beneath it may have other names
 * elsewhere. The root of a btrfs subvolume is not. Returns 1, 0 or a negative errno. */
int clone_is_part(int fd) _warn_unused_;
/* The same of the root of a mount, of which the directory of the file system is known, as in MountFact. */
int clone_root_is_part(int fd, const char *root) _warn_unused_;

/* Attaches a detached mount to the target, if that is still what was opened and nothing has been mounted on
 * it. This is the moment at which others see the mount. If the directory was moved in that very moment, so
 * that the path doesn't lead to the mount, it is unmounted again where it is. is_canceled is asked just
 * before. Completes outcome's target and mount id. Returns 0, a negative errno, INVALID_TARGET, or
 * CANCELED. */
int publish_mount(int tree, const Target *target, bool (*is_canceled)(void *userdata), void *userdata,
                  MountOutcome *outcome, Failure *f) _warn_unused_;

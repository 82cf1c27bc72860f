/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "mount/target.h"

/* Detached mounts, which are in no mount namespace, as open_tree(2) and fsmount(2) make them: their
 * attributes (mount_setattr(2)), as opposed to the options of the file system; copies of mounts; and
 * publishing. */

/* Sets nosuid, nodev and the attributes among the options on a detached mount; clears the other attributes,
 * which a clone inherits. Returns 0 or a negative errno. */
int attributes_set(int tree, char *const *options, bool read_only) _warn_unused_;

/* Makes only the detached mount read-only or writable, not the file system. Returns 0 or a negative errno. */
int attributes_set_read_only(int tree, bool read_only) _warn_unused_;

/* A private copy of a mount, to read or change files: without the mounts inside, so nobody enters them and
 * the files that they cover are visible; others can mount nothing in the copy; access times do not change. */

typedef enum CloneMode {
        CLONE_READ_ONLY,
        CLONE_AS_IT_IS, /* read-only if the mount is read-only */
        CLONE_WRITABLE, /* unless the file system is read-only */
} CloneMode;

typedef struct Clone {
        int tree; /* keeps the mount */
        int root; /* open for reading */
} Clone;

#define CLONE_INIT ((Clone){ .tree = -EBADF, .root = -EBADF })

/* Copies the mount of the directory fd, from that directory downwards. Needs CAP_SYS_ADMIN. Returns 0 or a
 * negative errno; -EINVAL for an unbindable mount (mount(2), MS_UNBINDABLE). */
int clone_open(int fd, CloneMode mode, Clone *ret) _warn_unused_;

/* Whether an open directory is part of a larger file system, so files beneath it may have other names
 * elsewhere. The root of a btrfs subvolume is not. Returns 1, 0 or a negative errno. */
int clone_is_part(int fd) _warn_unused_;
/* The same for the root fd of a mount. root: as in MountFact. */
int clone_root_is_part(int fd, const char *root) _warn_unused_;

/* Attaches a detached mount to the target if the path still leads to the opened directory and nothing is
 * mounted there. From this moment others see the mount. If the directory was moved at the same moment, so
 * that the path does not lead to the mount, unmounts the mount again. Calls is_canceled just before. Sets
 * target and mount id of outcome. Returns 0, a negative errno, INVALID_TARGET, or CANCELED. */
int publish_mount(int tree, const Target *target, bool (*is_canceled)(void *userdata), void *userdata,
                  MountOutcome *outcome, Failure *f) _warn_unused_;

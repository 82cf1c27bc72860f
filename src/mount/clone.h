/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* A private copy of a mount, to read or to change: it does not contain the mounts inside, so that they can't be
 * entered and what they cover can be seen; no one else can mount anything there; and no access time changes. */

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

/* Copies the mount that fd, a directory, is on, from that directory downwards. CAP_SYS_ADMIN. Returns 0 or a negative
 * errno; -EINVAL for a mount that can't be copied, mount(2), MS_UNBINDABLE. */
int clone_open(int fd, CloneMode mode, Clone *ret) _warn_unused_;

/* Whether an open directory is part of a larger file system, so that files beneath it may have other names elsewhere.
 * The root of a btrfs subvolume is not. Returns 1, 0 or a negative errno. */
int clone_is_part(int fd) _warn_unused_;
/* The same of the root of a mount, of which the directory of the file system is known, as in MountFact. */
int clone_root_is_part(int fd, const char *root) _warn_unused_;

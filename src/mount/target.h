/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/settings.h"
#include "mount/statmount.h"

/* A path beneath an allowed root, opened with openat2(2) from the root with RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, so that a later change of the path has no effect (class of
 * CVE-2021-25741). */
typedef struct Target {
        char *path;
        size_t root_length; /* path + root_length + 1 is what lies beneath the root */
        int root_fd;        /* O_PATH */
        int fd;             /* O_PATH */
        dev_t device;       /* st_dev */
        uint64_t inode;
        uint64_t mount_id; /* as in mountinfo; of the mount that fd is on */
        bool is_mount;     /* fd is the root of a mount */
        bool is_directory;
} Target;

#define TARGET_INIT ((Target){ .root_fd = -EBADF, .fd = -EBADF })

void target_done(Target *t);

/* Opens a file of any type. Returns 0, a negative errno, PATH_NOT_ALLOWED (the same for all that lies
 * outside the roots, whether it exists or not) or INVALID_TARGET. */
int target_open(const char *path, const Settings *settings, Target *ret, Failure *f) _warn_unused_;

/* Checks that it is a directory on which nothing is mounted. Returns 0, a negative errno, or INVALID_TARGET.
 * */
int target_check_free(const Target *t, Failure *f) _warn_unused_;

/* Opens a directory that is the root of a mount. Returns as target_open(). */
int target_open_mount(const char *path, const Settings *settings, Target *ret, Failure *f) _warn_unused_;

/* Opens the root of the mount with the id, a file of any type. Returns as target_open(), and BUSY if the
 * mount is gone. */
int target_open_id(const char *path, uint64_t mount_id, const Settings *settings, Target *ret,
                   Failure *f) _warn_unused_;

/* Whether path still leads to the file that was opened: nothing was renamed or mounted there since. Returns
 * 1, 0 or a negative errno. */
int target_is_unchanged(const Target *t) _warn_unused_;

/* Whether path leads to the root of the mount with the id by now. Returns 1, 0 or a negative errno. */
int target_leads_to(const Target *t, uint64_t mount_id) _warn_unused_;

/* Opens the directory that holds the target, for umount2(2) of its last component, *ret_name, which points
 * into path. Returns as target_open(), and -ENOENT if it doesn't exist. */
int target_open_parent(const char *path, const Settings *settings, int *ret_fd, const char **ret_name,
                       Failure *f) _warn_unused_;

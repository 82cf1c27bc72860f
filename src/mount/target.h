/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/settings.h"
#include "mount/mountinfo.h"

/* A path beneath an allowed root, opened with openat2(2) from the root with RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, so a later change of the path has no effect (class of
 * CVE-2021-25741). */
typedef struct Target {
        char *path;
        size_t root_length; /* path + root_length + 1 is the part beneath the root */
        int root_fd;        /* O_PATH */
        int fd;             /* O_PATH */
        dev_t device;       /* st_dev */
        uint64_t inode;
        uint64_t mount_id; /* of the mount of fd, as in mountinfo */
        bool is_mount;     /* fd is the root of a mount */
        bool is_directory;
} Target;

#define TARGET_INIT ((Target){ .root_fd = -EBADF, .fd = -EBADF })

void target_done(Target *t);

/* Opens a file of any type. Returns 0, a negative errno, PATH_NOT_ALLOWED (for every path outside the roots,
 * existing or not), SELINUX_DENIED or INVALID_TARGET. */
int target_open(const char *path, const Settings *settings, Target *ret, Failure *f) _warn_unused_;

/* Explains that SELinux denies the target. Returns as denial_failure(). */
int target_denial(const Target *t, Failure *f);
/* Asks the loaded policy whether the worker may mount there. Returns 0, -ENOMEM or SELINUX_DENIED. */
int target_check_policy(const Target *t, Failure *f) _warn_unused_;

/* Checks that the target is a directory and no mount. Returns 0, a negative errno, or INVALID_TARGET. */
int target_check_free(const Target *t, Failure *f) _warn_unused_;

/* Opens a directory that is the root of a mount. Returns as target_open(). */
int target_open_mount(const char *path, const Settings *settings, Target *ret, Failure *f) _warn_unused_;

/* Opens the root of the mount with the id, a file of any type. Returns as target_open(), and BUSY if the
 * mount is gone or covered. */
int target_open_id(const char *path, uint64_t mount_id, const Settings *settings, Target *ret,
                   Failure *f) _warn_unused_;

/* Whether path still leads to the opened file: nobody has renamed or mounted anything there. Returns 1, 0 or
 * a negative errno. */
int target_is_unchanged(const Target *t) _warn_unused_;

/* Whether path leads to the root of the mount with the id now. Returns 1, 0 or a negative errno. */
int target_leads_to(const Target *t, uint64_t mount_id) _warn_unused_;

/* Opens the parent directory of the target, for umount2(2) of the last component, *ret_name, which points
 * into path. Returns as target_open(), and -ENOENT if the directory does not exist. */
int target_open_parent(const char *path, const Settings *settings, int *ret_fd, const char **ret_name,
                       Failure *f) _warn_unused_;

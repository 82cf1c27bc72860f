/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* Whether path is absolute and in its only spelling: no empty, "." or ".." component, no trailing slash, no
 * control characters, valid UTF-8, shorter than PATH_MAX. Does not look at the file system. */
bool path_is_normalized(const char *path) _pure_;

/* Makes a path absolute, from the working directory, and removes "." components and extra slashes. Keeps ".."
 * components, which a symbolic link may precede. Does not look at the path's files. Returns NULL with errno
 * set on failure. */
char *path_make_clean(const char *path) _warn_unused_;

/* Whether path, normalized, is strictly beneath root. Compares only the text. */
bool path_is_beneath(const char *path, const char *root) _pure_;

/* selvol's own reads of a directory must not change its atime. */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME)

/* Opens a path beneath a directory without following any symbolic or magic link (openat2(2), Linux 5.6).
 * Retries after an interruption or a concurrent rename, and without O_NOATIME if the caller may not use it.
 *
 * relative: "." is the directory itself. flags: of open(2); O_CLOEXEC is added. resolve: RESOLVE_* to add,
 * such as RESOLVE_NO_XDEV. Returns a descriptor or a negative errno: -ELOOP for a symbolic link, -EXDEV for a
 * path that leads out of the directory. */
int open_beneath(int fd, const char *relative, int flags, uint64_t resolve) _warn_unused_;

/* Opens the file of a descriptor again, for other access. Does not use the file's path, which may lead
 * elsewhere by now. Returns a descriptor or a negative errno. */
int open_again(int fd, int flags) _warn_unused_;

/* Opens a path beneath a directory and on its mount, following symbolic links that do not leave the mount.
 * Returns a descriptor or a negative errno: -EXDEV for a path outside or on another mount, without looking
 * there. */
int open_in_file_system(int fd, const char *relative, int flags) _warn_unused_;

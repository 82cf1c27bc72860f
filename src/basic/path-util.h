/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* Whether path is absolute and in its only spelling: no empty, "." or ".." component, no trailing slash, no
 * control characters, valid UTF-8, shorter than PATH_MAX. Says nothing of what the path leads to. */
bool path_is_normalized(const char *path) _pure_;

/* Whether path, normalized, is strictly beneath root, by its spelling alone. */
bool path_is_beneath(const char *path, const char *root) _pure_;

/* Reading a directory for our own purposes must not change its atime. */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME)

/* Opens what is beneath a directory without following any symbolic or magic link (openat2(2), Linux 5.6). Interrupted
 * lookups and those beside a rename are tried again; O_NOATIME is left out where the caller may not have it.
 *
 * relative: "." is the directory itself. flags: of open(2); O_CLOEXEC is added. resolve: RESOLVE_* to add, such as
 * RESOLVE_NO_XDEV. Returns a descriptor or a negative errno; what is a symbolic link is ELOOP, what leads out EXDEV.
 */
int open_beneath(int fd, const char *relative, int flags, uint64_t resolve) _warn_unused_;

/* Opens what a descriptor is of once more, for other access; the path may lead elsewhere by now. Returns a
 * descriptor or a negative errno. */
int open_again(int fd, int flags) _warn_unused_;

/* Opens what is beneath a directory and on its mount, following symbolic links that do not leave it. Returns
 * a descriptor or a negative errno: EXDEV for what is on another mount or outside, without looking there. */
int open_in_file_system(int fd, const char *relative, int flags) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Opens the loop device over an image, which is attached if there is none, and detached with the last mount of it. Two over
 * one image would be two superblocks that write to it. locks: Staging's. *ret_path is the caller's. Returns 0, a negative errno, or
 * MOUNT_FAILED. */
int image_open_loop(const Source *s, const char *locks, bool read_only, int *ret_fd, char **ret_path,
                    Failure *f) _warn_unused_;

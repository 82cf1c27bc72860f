/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/failure.h"

/* Whether a mounted file system still works: no mount table tells of a device that has gone, or of a shutdown after an error.
 * fd is open in it, maybe with O_PATH; path is for messages, its target or its source. Errors that ext4 has noted since it
 * was checked last are logged, and nothing more. Returns 0, a negative errno, or MOUNT_FAILED. */
int health_check(int fd, const char *path, Failure *f) _warn_unused_;

/* What a negative errno of a look at path means for the file system there: MOUNT_FAILED after a shutdown, or without the
 * device; otherwise the errno, or -ENOMEM. */
int health_explain_errno(int error, const char *path, Failure *f) _warn_unused_;

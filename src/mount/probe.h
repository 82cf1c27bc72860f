/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/failure.h"
#include "model/settings.h"

/* What a device or image holds, found by libblkid. libmount's own search doesn't tell what it could not
 * read from what holds nothing, and who believes the latter makes a file system. */

/* The type of a device or image, open for reading, whose path is source: as source_open() has it of fs_type
 * and search. *ret belongs to the settings. The offset of fd changes. Returns 0, a negative errno,
 * INVALID_VOLUME, MOUNT_FAILED, INCOMPATIBLE, or TYPE_NOT_ALLOWED. */
int probe_type(int fd, const char *source, const char *fs_type, bool search, const Settings *settings,
               const FileSystem **ret, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether a device or image lacks the magic number that each file system of the type has in its superblock: one read of a
 * block that mounting reads anyway, where probing for all types takes some forty. false also where it is not known, for
 * other types and where reading fails: mounting tells. */
bool magic_is_missing(int fd, const char *fs_type);

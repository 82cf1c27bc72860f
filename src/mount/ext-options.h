/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/failure.h"
#include "model/settings.h"
#include "mount/fingerprint.h"

/* Whether it is ext2, ext3 or ext4: one driver mounts all three. */
bool ext_is_type(const char *fs_type) _pure_;

/* What a superblock of ext2, ext3 or ext4 asks for by itself is held to the list of what a caller may ask for: mount options
 * (tune2fs(8), -o and -E mount_opts), which the kernel takes before those that are passed; and a journal on another device, which it
 * would open by its number. source: of the message, escaped. Returns 0, -ENOMEM, or INVALID_OPTION. */
int ext_options_check(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE], const Settings *settings,
                      const FileSystem *fs, const char *source, Failure *f) _warn_unused_;

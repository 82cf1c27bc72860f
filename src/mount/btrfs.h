/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* What btrfs, whose device numbers are anonymous, is recognized by. Each returns 0 or a negative errno; *ret is NULL if
 * it is no btrfs, otherwise the caller's to free. */

/* The UUID of the btrfs that an open directory is on, as sysfs has it. fd is not of O_PATH. */
int btrfs_read_uuid(int fd, char **ret) _warn_unused_;

/* The same of an open device or image, which may not be mounted. */
int btrfs_read_uuid_on_disk(int fd, char **ret) _warn_unused_;

/* On how many devices it says that it is; 0 if it is no btrfs. Returns 0 or a negative errno. */
int btrfs_count_devices_on_disk(int fd, uint64_t *ret) _warn_unused_;

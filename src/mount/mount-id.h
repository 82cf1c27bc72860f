/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The mount that fd is on, by statx(2). STATX_MNT_ID: Linux 5.8. Causes no network request. */
int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) _warn_unused_;
/* Its unique id too, which no other mount gets until the next boot (STATX_MNT_ID_UNIQUE: Linux 6.8); 0 if the kernel has
 * none. */
int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) _warn_unused_;

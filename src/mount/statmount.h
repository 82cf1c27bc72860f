/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/string-util.h"

/* One mount, by itself: which one a descriptor is on, statx(2), and what the kernel says of it, statmount(2)
 * of Linux 6.8, instead of the whole mount table. */

/* The mount that fd is on, by statx(2). STATX_MNT_ID: Linux 5.8. Causes no network request. */
int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) _warn_unused_;
/* Its unique id too, which no other mount gets until the next boot (STATX_MNT_ID_UNIQUE: Linux 6.8); 0 if the
 * kernel has none. */
int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) _warn_unused_;

/* The mount with the unique id (statx(2), STATX_MNT_ID_UNIQUE) as a line of proc_pid_mountinfo(5), with its
 * id in id. Says "none" for the source unless with_source is set (STATMOUNT_SB_SOURCE, Linux 6.13). Of the
 * options of the mount it has ro and idmapped. *ret is the caller's. Returns 0; -EOPNOTSUPP if this kernel
 * doesn't tell all that is in a line, or if SELinux is on and it is not sure that the options of security
 * modules are among those that it tells; or another negative errno: -ENOENT if there is no such mount in the
 * caller's namespace. */
int statmount_read_line(uint64_t unique_id, bool with_source, char **ret) _warn_unused_;

/* Whether the mount with the unique id is in the caller's namespace, and has this id in mountinfo. Returns 1,
 * 0, -EOPNOTSUPP if this kernel doesn't tell, or another negative errno. */
int statmount_is_there(uint64_t unique_id, uint64_t id) _warn_unused_;

/* For the tests: as if the kernel had no statmount(2). */
void statmount_disable(void);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/string-util.h"

/* Reads a single mount instead of the whole mount table: the mount of a descriptor, by statx(2), and its
 * attributes, by statmount(2) of Linux 6.8. */

/* Finds the mount of fd, by statx(2). STATX_MNT_ID: Linux 5.8. Causes no network request. Returns 0 or a
 * negative errno. */
int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) _warn_unused_;
/* Finds the unique id, too, which the kernel does not reuse until the next boot (STATX_MNT_ID_UNIQUE: Linux
 * 6.8); 0 if the kernel has none. Returns 0 or a negative errno. */
int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) _warn_unused_;

/* Reads the mount with the unique id (statx(2), STATX_MNT_ID_UNIQUE) as a line of proc_pid_mountinfo(5). The
 * source is "none" unless with_source is set (STATMOUNT_SB_SOURCE, Linux 6.13). The mount options are only ro
 * and idmapped. *ret is the caller's. Returns 0; -EOPNOTSUPP if this kernel does not report everything in a
 * line, or if SELinux is on and the kernel may omit options of security modules; or another negative errno:
 * -ENOENT if the caller's namespace has no such mount. */
int statmount_read_line(uint64_t unique_id, bool with_source, char **ret) _warn_unused_;

/* Whether the mount with the unique id is in the caller's namespace and has this id in mountinfo. Returns 1,
 * 0, -EOPNOTSUPP if this kernel can't tell, or another negative errno. */
int statmount_is_there(uint64_t unique_id, uint64_t id) _warn_unused_;

/* For the tests: behave as on a kernel without statmount(2). */
void statmount_disable(void);

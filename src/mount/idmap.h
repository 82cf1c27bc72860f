/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* Idmapped mounts (mount_setattr(2), MOUNT_ATTR_IDMAP) show other owners than the disk has. */

/* Makes a detached mount show and write each of the two groups as the other one; all other groups and all
 * users stay the same. A mapping is one to one, so the groups are swapped, and covers all ids: files with an
 * unmapped id could not be changed (EOVERFLOW).
 *
 * Forks, so the process must have one thread; the child is gone when this returns. Needs CAP_SYS_ADMIN, and
 * for the namespace's maps CAP_SETUID, CAP_SETGID and, because root is mapped, CAP_SETFCAP.
 *
 * Returns 0 or a negative errno: -ERANGE if the groups are equal or none; -EBUSY if a file is open for
 * writing through the mount; -EIO if the call succeeded but the root does not show the expected group: the
 * mount can't be used then. After all other errors the mount is unchanged. */
int idmap_swap_groups(int tree, gid_t a, gid_t b) _warn_unused_;

/* Whether idmap_swap_groups() failed because this system can't idmap the mount, so that the files have to be
 * changed instead:
 * - EPERM: the kernel has idmapped mounts disabled (RHEL 9 before 9.6); the mount is idmapped already; or
 *   a security module denies a capability;
 * - EINVAL: the file system doesn't support it (tmpfs before Linux 6.3, NFS), or was mounted in a user
 *   namespace; the kernel doesn't know the flag; the mount is attached;
 * - ENOSYS: no mount_setattr(2) (before Linux 5.12), or a kernel without user namespaces;
 * - EOPNOTSUPP: the file system doesn't support it;
 * - ENOSPC, EUSERS: no more user namespaces (user.max_user_namespaces=0), or too many nested ones;
 * - EACCES: a security module denies user namespaces. */
bool idmap_is_unsupported(int error);

/* Formats the lines for /proc/PID/gid_map; public for the tests. The groups must differ. */
enum { IDMAP_TEXT_SIZE = 5 * sizeof("4294967295 4294967295 4294967295\n") };
void idmap_swap_map(gid_t a, gid_t b, char ret[IDMAP_TEXT_SIZE]);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* Idmapped mounts (mount_setattr(2), MOUNT_ATTR_IDMAP): the mount shows other owners than there are on disk.
 * */

/* Makes a detached mount show, and write, each of the two groups as the other one; all other groups and all users
 * stay what they are. A mapping is one to one, hence the swap, and it covers all ids: files of an id that is not
 * mapped could not be changed (EOVERFLOW).
 *
 * Forks, so the process must have one thread; the child is gone when this returns. Needs CAP_SYS_ADMIN, and for the
 * namespace's maps CAP_SETUID, CAP_SETGID and, as root is in them, CAP_SETFCAP.
 *
 * Returns 0 or a negative errno: -ERANGE if the groups are equal or none; -EBUSY if something is open for writing
 * through the mount; -EIO if the call succeeded but the root does not show the expected group: the mount can't be
 * used then. After all other errors it is unchanged. */
int idmap_swap_groups(int tree, gid_t a, gid_t b) _warn_unused_;

/* Whether idmap_swap_groups() failed because it is not possible here, so that the files have to be changed instead:
 * - EPERM: the kernel has it disabled (RHEL 9 before 9.6); the mount has a mapping already; or a security module
 *   denies a capability;
 * - EINVAL: the file system doesn't support it (tmpfs before Linux 6.3, NFS), or was mounted in a user namespace; the
 *   kernel doesn't know the flag; the mount is attached;
 * - ENOSYS: no mount_setattr(2) (before Linux 5.12), or no user namespaces in this kernel;
 * - EOPNOTSUPP: the file system doesn't support it;
 * - ENOSPC, EUSERS: no more user namespaces (user.max_user_namespaces=0), or too many nested ones;
 * - EACCES: a security module denies user namespaces. */
bool idmap_is_unsupported(int error);

/* The lines for /proc/PID/gid_map; for the tests. Two groups that differ. */
enum { IDMAP_TEXT_SIZE = 5 * sizeof("4294967295 4294967295 4294967295\n") };
void idmap_swap_map(gid_t a, gid_t b, char ret[IDMAP_TEXT_SIZE]);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* Idmapped mounts (mount_setattr(2), MOUNT_ATTR_IDMAP): what is on disk stays, and who looks through the mount sees
 * other owners. */

/* Has a detached mount show, and write, each of the two groups in the other's place; all other groups and all users
 * stay what they are. A mapping is one to one, hence the swap, and it covers all ids there are: what an id that is
 * not mapped owns would be nobody's (EOVERFLOW).
 *
 * Forks, so the process must have one thread; the child is gone when this returns. Needs CAP_SYS_ADMIN, and for the
 * namespace's maps CAP_SETUID, CAP_SETGID and, as root is in them, CAP_SETFCAP.
 *
 * Returns 0 or a negative errno: -ERANGE if there are no two groups; -EBUSY if something is open for writing through
 * the mount; -EIO if the kernel said yes and the root's group says no: the mount is of no use then. After all others
 * the mount is what it was. */
int idmap_swap_groups(int tree, gid_t a, gid_t b) _warn_unused_;

/* Whether idmap_swap_groups() failed because it can't be done here, so that another way has to be found:
 * - EPERM: the kernel has it disabled (RHEL 9 before 9.6); the mount has a mapping already; or a security module says
 *   no to a capability;
 * - EINVAL: the file system can't (tmpfs before Linux 6.3, NFS), or has been mounted in a user namespace; the kernel
 *   doesn't know the flag; the mount is attached;
 * - ENOSYS: there is no mount_setattr(2) (before Linux 5.12), or no user namespaces are built in it;
 * - EOPNOTSUPP: a file system's own way to say so;
 * - ENOSPC, EUSERS: no more user namespaces (user.max_user_namespaces=0), or too many in one another;
 * - EACCES: a security module keeps user namespaces to itself. */
bool idmap_is_unsupported(int error);

/* The lines for /proc/PID/gid_map; for the tests. Two groups that differ. */
enum { IDMAP_TEXT_SIZE = 5 * sizeof("4294967295 4294967295 4294967295\n") };
void idmap_swap_map(gid_t a, gid_t b, char ret[IDMAP_TEXT_SIZE]);

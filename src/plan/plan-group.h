/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Decides how a volume gets its group (KEP-1682, KEP-2317), and finds the mount that shows it, and the
 * holders that rely on the group on disk. */

/* Decides by the request and the file system (NULL while it is unknown). Sets fs_group, readers, ownership
 * and ownership_reason of a plan that has read_only. */
void plan_decide_group(const Settings *settings, const Request *q, const FileSystem *fs, Plan *p);

/* Sets p->share to a mounted holder of the volume whose mount a further holder gets as a clone; NULL if there
 * is none. q: the request, for user_namespace and wait_usec. Returns 0; GROUP_CONFLICT if all mounts swap
 * groups in a way that does not fit the plan, and another mount is impossible; BUSY if another mount is
 * impossible, and it is not known yet whether a holder has a mount; or -ENOMEM. */
int plan_find_share(const Others *others, const FileSystem *fs, const Request *q, Plan *p, Failure *f) _warn_unused_;

/* Adds a holder that uses the volume with another group to the conflicts, and fails with a message about it.
 * q: the request, which can wait for the end of the conflict; NULL: the caller can't. Returns GROUP_CONFLICT
 * or -ENOMEM. */
int plan_group_conflict(const Volume *v, const Holder *h, const Request *q, Plan *p, Failure *f) _warn_unused_;

/* Finds the holders that rely on the present group of the files on disk, for files_check_reliances(): other
 * holders of the volume than the one at target, without root, and holders of other volumes on the same
 * superblock, with root. The caller releases *ret with reliances_free(). Returns 0 or -ENOMEM. */
int plan_find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Reliance **ret, size_t *ret_n) _warn_unused_;

/* Adds those of these holders to the plan's conflicts that rely on another group than gid. Returns 0 or
 * -ENOMEM. */
int plan_find_group_conflicts(const Volumes *volumes, const char *volume, const char *target,
                              const Observed *observed, gid_t gid, Plan *p) _warn_unused_;

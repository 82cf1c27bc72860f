/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Decides who gives a volume its group (KEP-1682, KEP-2317), whose mount shows it, and who relies on the
 * one on disk. */

/* Decides by the request, and by the type of the file system (NULL while it is unknown): fills fs_group,
 * readers, ownership and its reason of a plan that says whether it is read-only. */
void plan_decide_group(const Settings *settings, const Request *q, const FileSystem *fs, Plan *p);

/* Finds a mounted holder of the same volume whose mount a further holder gets a clone of: p->share; NULL if
 * none. user_namespace: the runtime is going to idmap the mount. Returns 0; GROUP_CONFLICT if all of them
 * swap groups in a way that the plan has no use for, and there can't be another mount; BUSY if there can't be
 * one, and it is not known yet whether a holder has a mount; -ENOMEM. */
int plan_find_share(const Others *others, const FileSystem *fs, bool user_namespace, Plan *p,
                    Failure *f) _warn_unused_;

/* Adds a holder who has the volume's files in another group, and says so. Returns GROUP_CONFLICT or -ENOMEM.
 * */
int plan_group_conflict(const Volume *v, const Holder *h, Plan *p, Failure *f) _warn_unused_;

/* Finds those who rely on the group that the files have on disk now, for whoever decides on the files later
 * (files_check_reliances()): other holders of the volume than the one at target, with no root, and holders of
 * other volumes on the same superblock, with theirs. *ret is to be released with reliances_free(). Returns 0
 * or -ENOMEM. */
int plan_find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Reliance **ret, size_t *ret_n) _warn_unused_;

/* Adds those of them to the plan's conflicts who rely on another group than gid. Returns 0 or -ENOMEM. */
int plan_find_group_conflicts(const Volumes *volumes, const char *volume, const char *target,
                              const Observed *observed, gid_t gid, Plan *p) _warn_unused_;

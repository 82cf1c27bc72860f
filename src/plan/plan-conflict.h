/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Holders in the way of a plan: by a context, or by the options that a file system is mounted with. */

/* Adds a holder of a volume to the plan's conflicts. 0 or -ENOMEM. */
int plan_add_conflict(Plan *p, const Volume *v, const Holder *h) _warn_unused_;

/* Adds everybody in the plan's way to its conflicts: holders of the volume, mounts of the superblock. 0 or
 * -ENOMEM. */
int plan_find_conflicts(const Others *others, Plan *p) _warn_unused_;

/* Says who is in the way of the volume. can_wait: a mount can, WaitUSec. Returns CONTEXT_CONFLICT or
 * -ENOMEM. */
int plan_conflict_failure(const char *volume, const Plan *p, bool can_wait, Failure *f) _warn_unused_;

/* Describes who is in the way of the volume, where and since when: "held by H at T since D"; to be freed,
 * NULL on lack of memory. */
char *plan_describe_conflict(const Conflict *c, const char *volume) _warn_unused_;

/* The command that unmounts it there; likewise. */
char *plan_unmount_command(const Conflict *c) _warn_unused_;

/* A file system that is mounted keeps its options: the kernel drops those of a further mount without a
 * word. Whether it has the options that the request asks for, as far as they aren't attributes of each
 * mount: it does if selvol mounted it with them, or if whoever had it adopted said so. What it has by
 * default is not known. share is what is to be shared, NULL if nothing of selvol's is. Returns 0, -ENOMEM,
 * or INCOMPATIBLE. */
int plan_check_shared_options(const Others *others, const Request *q, const Holder *share, Failure *f) _warn_unused_;

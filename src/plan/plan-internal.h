/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"

/* What plan.c, plan-conflict.c and plan-relabel.c share. */

/* Rules 1 and 2: labels that are not ours to manage, whatever context is asked for. */
bool plan_decide_unmanaged(const PlanInput *in, Plan *p);

/* Whether volumes may have the context's type. Returns 0, -ENOMEM or TYPE_NOT_ALLOWED. */
int plan_check_label_type(const Settings *settings, const char *context, Failure *f) _warn_unused_;

/* plan-conflict.c: adds one. 0 or -ENOMEM. */
int plan_add_conflict(Plan *p, const char *volume, const char *holder, const char *target, const char *context,
                      uint64_t since_usec) _warn_unused_;
/* Adds everybody in the plan's way to its conflicts: holders of the volume, mounts of the superblock. 0 or -ENOMEM.
 */
int plan_find_conflicts(const PlanInput *in, const Volume *own, Plan *p) _warn_unused_;
/* Says who is in the way. Returns CONTEXT_CONFLICT or -ENOMEM. */
int plan_conflict_failure(const PlanInput *in, const Plan *p, Failure *f) _warn_unused_;
/* Who is in the way of the volume, where and since when: "held by H at T since D"; to be freed, NULL on lack of
 * memory.
 */
char *plan_describe_conflict(const Conflict *c, const char *volume) _warn_unused_;

/* What all who have the volume besides may do to labels once all files have got one. */
MarkChange plan_change_of_others(const PlanInput *in, const Volume *own);

/* How much there is to relabel and how long it takes, where it is known. */
void plan_estimate(const Volume *own, Plan *p);

/* plan-ownership.c: who gives the volume its group, KEP-1682 and KEP-2317; for OPTION the mount options get it.
 * Returns 0, -ENOMEM or INVALID_OPTION. */
int plan_decide_ownership(const PlanInput *in, const char *fs_type, Plan *p, Failure *f) _warn_unused_;
/* A mounted holder of the same volume whose mount a further holder gets a clone of; NULL if none. Returns 0,
 * GROUP_CONFLICT if all of them swap groups in a way that the plan has no use for, and there can't be another mount;
 * -ENOMEM. */
int plan_find_share(const PlanInput *in, const char *fs_type, const Volume *own, Plan *p, Failure *f) _warn_unused_;

/* plan-relabel.c: what it takes to mount a volume that nobody has as it was the last time. Returns 0, -ENOMEM or
 * NOT_SUPPORTED. */
int plan_check_mountable(const Settings *settings, const Volume *v, Failure *f) _warn_unused_;

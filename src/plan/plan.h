/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* The decision: how a volume gets its label. The only place where one is taken. */

typedef struct PlanInput {
        const Node *node;
        const Settings *settings;
        const Request *request; /* validated */
        const Volumes *volumes; /* what is recorded, of all volumes: conflicts may come from another one */
        const Observed *observed;
        int seclabel;             /* what the mount shows, once there is one; -1: predict it */
        const MountFact *mounted; /* what somebody else has mounted at the target, when that is to be adopted */
        bool claimed;             /* no job is at work on the volume but the one that asks */
} PlanInput;

/* Decides by the rules of docs/plan.md, which are KEP-1710's. No side effects, no clock; equal input, equal
 * plan. Returns 0 with *ret filled; -ENOMEM; or why not: LEVEL_REQUIRED, INVALID_CONTEXT, TYPE_NOT_ALLOWED,
 * NOT_SUPPORTED, INVALID_OPTION, INCOMPATIBLE, for an adoption CONTEXT_DROPPED and LABEL_MISMATCH,
 * CONTEXT_CONFLICT and GROUP_CONFLICT (*ret then holds the conflicts, and must be released too), BUSY. */
int plan_make(const PlanInput *in, Plan *ret, Failure *f) _warn_unused_;

/* Whether the volume's holders have mounts of what was looked at as source, whatever they call it: a disk has
 * several names, and an image is a loop device to who looks at its mount. */
bool plan_is_held_source(const Volume *own, const Observed *observed, const char *source) _pure_;

/* Whether a plan that was made with mounts_unknown may be another one once they are known. Not so where a
 * holder's mount is shared and no file is changed: a superblock has one context, so what the holder has is
 * what all mounts have. But if all holders are readers, somebody else may write. */
bool plan_needs_mounts(const Plan *p, const Volumes *volumes, const char *volume) _pure_;

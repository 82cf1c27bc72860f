/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Decides how a volume gets its label. selvol decides this nowhere else. */

typedef struct PlanInput {
        const Node *node;
        const Settings *settings;
        const Request *request; /* validated */
        const Volumes *volumes; /* the records of all volumes: another one may conflict */
        const Observed *observed;
        int seclabel;             /* whether the mount shows seclabel; -1: no mount yet, predict */
        const MountFact *mounted; /* the foreign mount at the target that selvol adopts; NULL: none */
        bool claimed;             /* the asking job has claimed the volume: no other job works on it */
} PlanInput;

/* Makes a plan by the rules of docs/plan.md, which are KEP-1710's. No side effects, no clock; equal input
 * makes an equal plan. Returns 0 with *ret filled; -ENOMEM; or a failure: LEVEL_REQUIRED, INVALID_CONTEXT,
 * TYPE_NOT_ALLOWED, NOT_SUPPORTED, INVALID_OPTION, INCOMPATIBLE, SOURCE_CHANGED, for an adoption
 * CONTEXT_DROPPED and LABEL_MISMATCH, CONTEXT_CONFLICT and GROUP_CONFLICT (*ret then has the conflicts, and
 * the caller has to release it, too), BUSY. */
int plan_make(const PlanInput *in, Plan *ret, Failure *f) _warn_unused_;

/* Whether a plan that was made with mounts_unknown may change when the mounts are known. It can't if the plan
 * shares a holder's mount and changes no file: a superblock has one context, so all its mounts have the
 * holder's. But if all holders are readers, another mount may be writable. */
bool plan_needs_mounts(const Plan *p, const Volumes *volumes, const char *volume) _pure_;

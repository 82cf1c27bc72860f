/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Plans for the methods Relabel and ApplyOwnership, which change the files of a volume and ask for no mount.
 * Plan.share is the holder whose mount the worker walks over; NULL if the volume has no holders: the worker
 * then mounts it first, with the options of the last mount. files_decide() decides whether there is anything
 * to do. */

typedef struct ChangeInput {
        const Node *node; /* NULL if the worker has not looked yet */
        const Settings *settings;
        const Volumes *volumes;
        const Volume *volume;     /* with its holders */
        const char *context;      /* the wanted one, in full; NULL or "": plan_relabel_context() */
        const Observed *observed; /* of the volume's superblock; NULL if the worker did not look */
} ChangeInput;

/* Plans a relabel by selvol, with the context in canonical form; change is how the holders can weaken the
 * mark afterwards. Returns 0 with *ret filled; -ENOMEM; or a failure: NOT_SUPPORTED (SELinux is off; hostPath
 * always, and other volumes whose labels are not managed; the volume is mounted with a context, so that its
 * files have no labels to change; all holders are readers; there is no holder, and the record does not
 * suffice to mount the volume), INVALID_OPTION (an option of the last mount is not allowed any more),
 * INVALID_CONTEXT, LEVEL_REQUIRED, TYPE_NOT_ALLOWED, BUSY (a job is mounting the volume), CONTEXT_CONFLICT: a
 * holder relies on another context (*ret then has the conflicts, and the caller has to release it, too). */
int plan_relabel(const ChangeInput *in, Plan *ret, Failure *f) _warn_unused_;

/* Plans to give the files to the group gid; readers: the group only needs to read. Labels and the context
 * don't matter. Returns 0 with *ret filled; -ENOMEM; or a failure: NOT_SUPPORTED (hostPath, always; all
 * holders are readers; there is no holder, and selvol can't mount the volume), INVALID_OPTION, BUSY,
 * GROUP_CONFLICT: a holder uses the files with another group (*ret then has the conflicts, and the caller has
 * to release it, too). */
int plan_ownership(const ChangeInput *in, gid_t gid, bool readers, Plan *ret, Failure *f) _warn_unused_;

/* Returns the context for a relabel if the caller passed none: that of the present or last use, or that of an
 * incomplete relabel; "" if there is neither, or if the files have another one on disk than that of the last
 * use. */
const char *plan_relabel_context(const Volume *v);

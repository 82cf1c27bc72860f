/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* The decision on the methods Relabel and ApplyOwnership, which change the files of a volume and ask for no
 * mount. share is the holder's mount to walk over; NULL if nobody has the volume, so that it has to be
 * mounted first, with the options of the last mount. Whether there is anything to do is files_decide()'s to
 * say. */

typedef struct ChangeInput {
        const Node *node; /* NULL while nothing was seen of it */
        const Settings *settings;
        const Volumes *volumes;
        const Volume *volume;     /* with its holders */
        const char *context;      /* wanted, in full; NULL or "": plan_relabel_context() */
        const Observed *observed; /* of its superblock; NULL if nobody looked */
} ChangeInput;

/* Strategy relabel, done here, with the context in canonical form; change is what the holders may do
 * afterwards. Returns 0 with *ret filled; -ENOMEM; or why not: NOT_SUPPORTED (SELinux is off; hostPath
 * always, and other volumes whose labels are not managed; mounted with a context, so that its files have no
 * labels to change; held by readers only; nobody has it, and what is known of it does not suffice to mount
 * it), INVALID_OPTION (of the last mount, and not allowed any more), INVALID_CONTEXT, LEVEL_REQUIRED,
 * TYPE_NOT_ALLOWED, BUSY (a mount of it is on its way), CONTEXT_CONFLICT: a holder relies on another
 * context (*ret then holds the conflicts, and must be released too). */
int plan_relabel(const ChangeInput *in, Plan *ret, Failure *f) _warn_unused_;

/* Gives the files to the group gid; readers: which needs to read only. Labels and the context play no part.
 * Returns 0 with *ret filled; -ENOMEM; or why not: NOT_SUPPORTED (a hostPath, always; held by readers only;
 * nobody has it, and it can't be mounted), INVALID_OPTION, BUSY, GROUP_CONFLICT: a holder has the files in
 * another group (*ret then holds the conflicts, and must be released too). */
int plan_ownership(const ChangeInput *in, gid_t gid, bool readers, Plan *ret, Failure *f) _warn_unused_;

/* The context for a relabel for which none was passed: that of the present or the last use, or that of a
 * relabel that was not completed; "" if there is none, or if these are two. */
const char *plan_relabel_context(const Volume *v);

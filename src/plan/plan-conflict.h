/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Conflicts of a plan with other holders: about a context, or about the options of a mounted file system. */

/* Adds a holder of a volume to the plan's conflicts. Returns 0 or -ENOMEM. */
int plan_add_conflict(Plan *p, const Volume *v, const Holder *h) _warn_unused_;

/* Adds the holders of the volume and the mounts of the superblock that conflict with the plan to its
 * conflicts. Returns 0 or -ENOMEM. */
int plan_find_conflicts(const Others *others, Plan *p) _warn_unused_;

/* Checks that a mounted file system has the options of the request, except those that are attributes of one
 * mount: the kernel silently drops the options of a further mount. The file system has an option if selvol
 * mounted it with the option, or if the caller of AdoptVolume passed the option; its defaults are not known.
 * share: the holder whose mount the plan clones; NULL: none. Returns 0, -ENOMEM, or INCOMPATIBLE. */
int plan_check_shared_options(const Others *others, const Request *q, const Holder *share, Failure *f) _warn_unused_;

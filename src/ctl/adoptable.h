/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "mount/mountinfo.h"

/* Finds the mounts at or beneath a directory that can be adopted: those of block devices, except the mounts
 * at targets. targets is an object with a member for each target of a holder. volumes has a member for each
 * target whose volume is known.
 *
 * Returns 0 and an array of objects with Volume, Target, Source, FSType, and, where known, Holder and
 * Context; in *ret_skipped an array with Target and Text of mounts that can't be adopted. Or -ENOMEM. */
int adoptable_find(const MountTable *table, const char *root, const json_t *targets, const json_t *volumes,
                   json_t **ret, json_t **ret_skipped) _warn_unused_;

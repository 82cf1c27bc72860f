/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "mount/mountinfo.h"

/* Which mounts at or beneath a directory can be adopted: of block devices, but not those at the targets,
 * which is an object with a member for each that is held. volumes has a member for each target whose volume
 * is known.
 *
 * Returns 0 and an array of objects with Volume, Target, Source, FSType, and what applies of Holder and
 * Context; and one with Target and Text of those that can't be. Or -ENOMEM. */
int adoptable_find(const MountTable *table, const char *root, const json_t *targets, const json_t *volumes,
                   json_t **ret, json_t **ret_skipped) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Which mounts are hidden by others, told from a mount table alone: no path is looked up, as that may block. */

/* For each mount of the whole table *ret[i] becomes the one that hides it, on top of it or over a directory above; NULL: none
 * does. The array is the caller's, to be freed. Returns 0 or -ENOMEM. */
int cover_find(const MountTable *table, const Mount ***ret) _warn_unused_;

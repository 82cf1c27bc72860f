/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Which mounts beneath the roots have a mount of the same files, or of a part of them, outside of all roots, as mount --bind
 * makes one: there anybody may change files. Beneath the roots kubelet makes such mounts for subPath.
 *
 * For each mount of the whole table *ret[i] becomes the first such mount outside; NULL: none, or it is outside itself. The
 * array is the caller's, to be freed. Returns 0 or -ENOMEM. */
int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) _warn_unused_;

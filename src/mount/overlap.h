/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Mounts that cover each other or show the same file system, told from a mount table alone: no path is
 * looked up, as that may block. */

/* Which mounts are hidden by others. For each mount of the whole table *ret[i] becomes the one that hides it,
 * on top of it or over a directory above; NULL: none does. The array is the caller's, to be freed. Returns 0
 * or -ENOMEM. */
int cover_find(const MountTable *table, const Mount ***ret) _warn_unused_;

/* Which mounts beneath the roots have a mount of the same files, or of a part of them, outside of all
 * roots, as mount --bind makes one: there anybody may change files. Beneath the roots kubelet makes such
 * mounts for subPath.
 *
 * For each mount of the whole table *ret[i] becomes the first such mount outside; NULL: none, or it is
 * outside itself. The array is the caller's, to be freed. Returns 0 or -ENOMEM. */
int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) _warn_unused_;

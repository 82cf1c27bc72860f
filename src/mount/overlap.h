/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Finds mounts that cover each other or show the same files, in the mount table alone: looking up a path
 * might block. */

/* Finds the covers of all mounts. *ret[i] is the mount that hides mount i, on top of it or over a directory
 * above; NULL: none. The caller frees the array. Returns 0 or -ENOMEM. */
int cover_find(const MountTable *table, const Mount ***ret) _warn_unused_;

/* Finds mounts of the same files, or of a part of them, outside of all roots, such as mount --bind makes:
 * there anybody may change files. Beneath the roots kubelet makes such mounts for subPath.
 *
 * *ret[i] is the first such mount for mount i; NULL: none, or mount i is itself outside. The caller frees the
 * array. Returns 0 or -ENOMEM. */
int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Finds mounts that cover each other or show the same files, in the mount table alone: looking up a path
 * might block. */

/* Finds the covers of all mounts. *ret[i] is the mount that hides mount i, on top of it or over a directory
 * above; NULL: none. The caller frees the array. Returns 0 or -ENOMEM. */
int cover_find(const MountTable *table, const Mount ***ret) _warn_unused_;

/* Finds mounts that the kernel keeps alike: where a shared mount, such as kubelet's directory, is bound to
 * another place, each mount inside appears at both places, and is unmounted at both. Such mounts are in one
 * peer group, show the same directory, and are at the same place in parents that are peers; what mount --bind
 * makes of a shared mount is in its group, too, but at a place of its own.
 *
 * *ret[i] is the first mount of the set that has mount i; NULL: none is alike. The caller frees the array.
 * Returns 0 or -ENOMEM. */
int peers_find(const MountTable *table, const Mount ***ret) _warn_unused_;

/* Finds mounts of the same files, or of a part of them, outside of all roots, such as mount --bind makes:
 * there anybody may change files. Beneath the roots kubelet makes such mounts for subPath. A mount that is
 * alike to one beneath the roots is none of these.
 *
 * *ret[i] is the first such mount for mount i; NULL: none, or mount i is itself outside. The caller frees the
 * array. Returns 0 or -ENOMEM. */
int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) _warn_unused_;

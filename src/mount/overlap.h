/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
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

/* Sets beside of all noted mounts in facts, which are mounts of the table: others have the file system
 * mounted, too, and may write. These are none: mounts that are alike to noted ones; beneath the roots mounts
 * of a part of what is noted, which kubelet makes for subPath, and all mounts of a file system of which one
 * is adopted, as a driver has staged it; and mounts that were noted at the last look (before): the worker may
 * have unmounted one while the table was read. Returns 0 or -ENOMEM. */
int beside_find(const MountTable *table, char *const *roots, const MountFact *before, size_t n_before,
                MountFact *facts, size_t n) _warn_unused_;

/* Finds mounts of the same files, or of a part of them, outside of all roots, such as mount --bind makes:
 * there anybody may change files. Beneath the roots kubelet makes such mounts for subPath. A mount that is
 * alike to one beneath the roots is none of these.
 *
 * *ret[i] is the first such mount for mount i; NULL: none, or mount i is itself outside. The caller frees the
 * array. Returns 0 or -ENOMEM. */
int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) _warn_unused_;

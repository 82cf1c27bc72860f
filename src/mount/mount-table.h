/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "mount/mountinfo.h"

/* What is looked for in the mount table. */

/* Facts of the mount with an id. Returns 0, -ENOMEM or -ENOENT. */
int mount_table_find_id(const MountTable *table, uint64_t id, MountFact *ret) _warn_unused_;

/* All mounts of the superblock on any of the devices: by the device number in the table or, as those of btrfs
 * are anonymous, by the device that the mount's source is. *ret is to be released with mount_facts_free(). */
int mount_table_find_devices(const MountTable *table, const dev_t *devices, size_t n_devices, MountFact **ret,
                             size_t *ret_n) _warn_unused_;

/* All mounts strictly beneath one of the roots or at one of the others (NULL: there are none), by comparison
 * of strings; with their covers and, if there are roots, a place elsewhere. In the order of the table, which
 * since Linux 6.8 is that in which mounts were made, not that in which they were attached: it doesn't tell
 * which mount is on top. */
int mount_table_find_beneath(const MountTable *table, char *const *roots, char *const *others, MountFact **ret,
                             size_t *ret_n) _warn_unused_;

/* All mounts at path, by comparison of strings; with what covers them. *ret is to be released with
 * mount_facts_free(). Returns 0 or -ENOMEM. */
int mount_table_find_at(const MountTable *table, const char *path, MountFact **ret, size_t *ret_n) _warn_unused_;

/* Paths, relative to the root of the mount with an id, of all mounts inside it, however deep. Returns 0,
 * -ENOMEM or -ENOENT. */
int mount_table_find_inside(const MountTable *table, uint64_t id, char ***ret) _warn_unused_;

/* The directory of the file system that is the root of the mount with an id: "/" if all of it is mounted.
 * Returns 0, -ENOMEM or -ENOENT. */
int mount_table_find_root(const MountTable *table, uint64_t id, char **ret) _warn_unused_;

/* Whether the superblock of the mount with an id has an option that shows labels that are not on disk,
 * although it has seclabel: defcontext=, rootcontext=. Returns 1, 0 or -ENOENT. */
int mount_table_overrides_labels(const MountTable *table, uint64_t id) _warn_unused_;

/* Whether a mount shows other owners than there are on disk, mount_setattr(2). Returns 1, 0, -ENOMEM or
 * -ENOENT. */
int mount_table_is_idmapped(const MountTable *table, uint64_t id) _warn_unused_;

/* Whether the mount with an id only receives mounts from its master and passes none on (mount_namespaces(7)).
 * Returns 1, 0 or -ENOENT. */
int mount_table_is_slave(const MountTable *table, uint64_t id) _warn_unused_;

/* "SOURCE, type TYPE, at 'TARGET'", escaped, for messages. NULL on lack of memory. */
char *mount_fact_describe(const MountFact *fact) _warn_unused_;

/* Whether a fact is of a mount that mount_table_find_devices() would find. */
bool mount_fact_is_of_devices(const MountFact *fact, const dev_t *devices, size_t n_devices);

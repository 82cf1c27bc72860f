/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "mount/mountinfo.h"

/* Queries of the mount table. */

/* Finds the mount with the id. Returns 0, -ENOMEM or -ENOENT. */
int mount_table_find_id(const MountTable *table, uint64_t id, MountFact *ret) _warn_unused_;

/* Finds all mounts of the superblock on any of the devices: by the device number in the table or, for btrfs,
 * whose numbers are anonymous, by the mount's source; sets peer_id. Release *ret with
 * mount_facts_free(). Returns 0 or a negative errno. */
int mount_table_find_devices(const MountTable *table, const dev_t *devices, size_t n_devices, MountFact **ret,
                             size_t *ret_n) _warn_unused_;

/* Finds all mounts strictly beneath one of the roots, or at one of the others (may be NULL), by comparing
 * strings; sets covered_by and, if there are roots, also_at. The order is that of the table: since Linux 6.8
 * mounts are sorted by the time they were made, not attached, so the order does not tell which mount is on
 * top. Returns 0 or a negative errno. */
int mount_table_find_beneath(const MountTable *table, char *const *roots, char *const *others, MountFact **ret,
                             size_t *ret_n) _warn_unused_;

/* Finds all mounts at path, by comparing strings; sets covered_by. Release *ret with mount_facts_free().
 * Returns 0 or -ENOMEM. */
int mount_table_find_at(const MountTable *table, const char *path, MountFact **ret, size_t *ret_n) _warn_unused_;

/* Finds the paths of all mounts inside the mount with the id, at any depth, relative to its root. Returns 0,
 * -ENOMEM or -ENOENT. */
int mount_table_find_inside(const MountTable *table, uint64_t id, char ***ret) _warn_unused_;

/* Finds the directory of the file system that is mounted: "/" if the mount shows the whole file system.
 * Returns 0, -ENOMEM or -ENOENT. */
int mount_table_find_root(const MountTable *table, uint64_t id, char **ret) _warn_unused_;

/* Whether the superblock of the mount has defcontext= or rootcontext=, which show labels that are not on disk
 * despite seclabel. Returns 1, 0 or -ENOENT. */
int mount_table_overrides_labels(const MountTable *table, uint64_t id) _warn_unused_;

/* Lists the options, one in each string, with which a mount would have the same effect as the mount with the
 * id: those of the mount and its superblock, and "ro", escaped. Leaves out context=, nosuid and nodev, which
 * selvol sets itself, and what says nothing: rw, relatime, seclabel, idmapped. Not for the table of
 * mount_table_read_own(), which may lack options. Returns 0, -ENOMEM or -ENOENT. */
int mount_table_find_options(const MountTable *table, uint64_t id, char ***ret) _warn_unused_;

/* Whether the mount is idmapped (mount_setattr(2)). Returns 1, 0 or -ENOENT. */
int mount_table_is_idmapped(const MountTable *table, uint64_t id) _warn_unused_;

/* Whether the mount only receives mounts from its master and passes none on (mount_namespaces(7)). Returns 1,
 * 0 or -ENOENT. */
int mount_table_is_slave(const MountTable *table, uint64_t id) _warn_unused_;

/* Returns "SOURCE, type TYPE, at 'TARGET'", escaped, for messages. NULL without memory. */
char *mount_fact_describe(const MountFact *fact) _warn_unused_;

/* Whether mount_table_find_devices() would find the mount of the fact. */
bool mount_fact_is_of_devices(const MountFact *fact, const dev_t *devices, size_t n_devices);

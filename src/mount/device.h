/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "model/settings.h"

/* Finds the block devices of file systems. For btrfs sysfs is read, because st_dev of its files is
 * anonymous. */

/* Reads the UUID of the btrfs of an open directory, as sysfs shows it. fd is not opened with O_PATH. *ret is
 * the caller's; NULL: no btrfs. Returns 0 or a negative errno. */
int btrfs_read_uuid(int fd, char **ret) _warn_unused_;

/* Reads the id of the subvolume of an open directory of a btrfs. fd is not opened with O_PATH. Returns 0 or a
 * negative errno. */
int btrfs_read_subvolume(int fd, uint64_t *ret) _warn_unused_;

/* Whether a block device holds a file system of the host: of /, /usr, /var and the like, or of the roots
 * beneath which volumes are mounted. Returns 1, 0 or a negative errno. */
int host_uses_device(const Settings *settings, dev_t device) _warn_unused_;

/* The same for the file system of an open directory. */
int host_uses_file_system(const Settings *settings, int fd) _warn_unused_;

/* Finds the devices of the mounted btrfs with the UUID, in sysfs. The caller frees *ret. Returns 0 or a
 * negative errno. */
int host_find_btrfs_devices(const char *uuid, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Finds the device and, if it is part of a mounted btrfs of several devices, the others
 * (/sys/fs/btrfs/UUID/devices): the mount table may name any of them. The caller frees *ret. Returns 0 or a
 * negative errno. */
int host_find_siblings(dev_t device, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Finds the devices that lie on a device, such as logical volumes, by sysfs. The caller frees *ret. Returns 0
 * or a negative errno. */
int device_find_holders(dev_t device, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Finds the disk of an entry of a partition table; of any other device the device. Returns 0 or a negative
 * errno. */
int device_find_disk(dev_t device, dev_t *ret) _warn_unused_;

/* Finds the disk of an entry of a partition table, and the other entries of the table with all that lies on
 * them; of a disk with a table the disk, and all entries. The caller frees *ret. Returns 1; 0 if the device
 * is neither; or a negative errno. */
int device_find_entries(dev_t device, dev_t *ret_disk, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Finds the device's own link: one of udev's that follow from the device, and not from what is on it.
 * Formatting the device anew leaves them as they are, and another disk gets others. It is
 * /dev/disk/by-id/dm-uuid-*, the first one of another kind in by-id, or one in by-partuuid. *ret is the
 * caller's; NULL: none, as of loop devices, or the device is anonymous. Returns 0 or -ENOMEM. */
int device_find_link(dev_t device, char **ret) _warn_unused_;

/* Makes the path of udev's link for a source such as "LABEL=data"; other sources are a path already. Returns
 * 0 or a negative errno. */
int device_name_to_path(const char *source, char **ret) _warn_unused_;

/* Finds the block device that a file such as fstab(5) names, by a path in /dev or a tag: nowhere else are
 * devices, and a server might not answer. Returns 1, 0 if there is none, or -ENOMEM. */
int device_find_named(const char *source, dev_t *ret) _warn_unused_;

/* Appends a device to an array. Returns 0 or -ENOMEM. */
int device_append(dev_t **devices, size_t *n, dev_t device) _warn_unused_;

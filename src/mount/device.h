/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "model/settings.h"

/* Which file system is on which block devices. Those of btrfs are asked for: the numbers that its files have
 * are anonymous. */

/* The UUID of the btrfs that an open directory is on, as sysfs has it. fd is not of O_PATH. *ret is the
 * caller's; NULL: it is no btrfs. Returns 0 or a negative errno. */
int btrfs_read_uuid(int fd, char **ret) _warn_unused_;

/* Whether a block device holds one of the host's own file systems: those of /, /usr, /var and the like and
 * of the roots that volumes are mounted beneath. Returns 1, 0 or a negative errno. */
int host_uses_device(const Settings *settings, dev_t device) _warn_unused_;

/* The same of the file system that an open directory is on. */
int host_uses_file_system(const Settings *settings, int fd) _warn_unused_;

/* The devices of the mounted btrfs with that UUID, as sysfs has them. *ret is the caller's to free. Returns
 * 0 or a negative errno. */
int host_find_btrfs_devices(const char *uuid, dev_t **ret, size_t *ret_n) _warn_unused_;

/* The device and, if it is part of a mounted btrfs of several devices, the others
 * (/sys/fs/btrfs/UUID/devices): any of them may be the one that the mount table names. *ret is the caller's
 * to free. Returns 0 or a negative errno. */
int host_find_siblings(dev_t device, dev_t **ret, size_t *ret_n) _warn_unused_;

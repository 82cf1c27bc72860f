/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* The name of a superblock that is the same by whatever source or mount one comes to it (Observed.superblock):
 * "device:8:17"; "image:8:1:4711" for an image file and for loop devices over the whole of one, by the file's device and
 * inode; "btrfs:UUID". *ret is NULL for network file systems and those without a source; it is the caller's to free. */

/* Of the one that mounting the source would make, or share. Returns 0 or a negative errno. */
int superblock_name_source(const Source *s, char **ret) _warn_unused_;

/* Of the one that an open directory is on, which has the device number in the mount table. fd is not of O_PATH. Returns
 * 0 or a negative errno. */
int superblock_name_mounted(int fd, dev_t device, char **ret) _warn_unused_;

/* Whether the file system that an open directory is on, which has the name of the source's superblock, has its files on the source's
 * device alone: btrfs takes whichever devices the kernel knows with the UUID. fd is not of O_PATH. Returns 1, 0 or a negative
 * errno. */
int superblock_is_on_source(int fd, const Source *s) _warn_unused_;

/* The fingerprint of the file system that an open directory is on, the mount of which is fact. Not known if its device can't be
 * found. fd is not of O_PATH. */
Fingerprint superblock_read_fingerprint(int fd, const MountFact *fact);

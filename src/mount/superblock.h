/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Which superblock is that of a source or a mount, who has it, and its fingerprint. */

/* The name of a superblock that is the same by whatever source or mount one comes to it
 * (Observed.superblock): "device:8:17"; "image:8:1:4711" for an image file and for loop devices over the
 * whole of one, by the file's device and inode; "btrfs:UUID". *ret is NULL for network file systems and
 * those without a source; it is the caller's to free. */

/* Of the one that mounting the source would make, or share. Returns 0 or a negative errno. */
int superblock_name_source(const Source *s, char **ret) _warn_unused_;

/* Of the one that an open directory is on, which has the device number in the mount table. fd is not of
 * O_PATH. Returns 0 or a negative errno. */
int superblock_name_mounted(int fd, dev_t device, char **ret) _warn_unused_;

/* Whether the file system that an open directory is on, which has the name of the source's superblock, has
 * its files on the source's device alone: btrfs takes whichever devices the kernel knows with the UUID. fd
 * is not of O_PATH. Returns 1, 0 or a negative errno. */
int superblock_is_on_source(int fd, const Source *s) _warn_unused_;

/* The fingerprint of the file system that an open directory is on, the mount of which is fact. Not known if
 * its device can't be found. fd is not of O_PATH. */
Fingerprint superblock_read_fingerprint(int fd, const MountFact *fact);

/* Whether somebody claims the device, or a loop device over the image: a mount in any namespace, RAID, the
 * device mapper, swap. 0 for the kinds network and none. Returns 1, 0 or a negative errno. */
int source_is_claimed(const Source *s) _warn_unused_;

/* The same of somebody who claims it for longer than a look, or an unmount, takes. */
int source_is_claimed_for_long(const Source *s) _warn_unused_;

/* Mounts of the superblock that mounting the source would share. None for the kinds network and none: each
 * mount has a superblock of its own (NFS because context mounts are made with nosharecache). For a block
 * device that is not in use, the mount table isn't read. *ret is to be released with mount_facts_free().
 * Returns 0 or a negative errno. */
int source_find_mounts(const Source *s, MountFact **ret, size_t *ret_n) _warn_unused_;

/* Whether a mount is one of the source's superblock. Returns 1, 0 or a negative errno. */
int source_is_mounted_as(const Source *s, const MountFact *fact) _warn_unused_;

/* The fingerprint of the file system as it is on disk. Not known of the kinds network and none. */
Fingerprint source_read_fingerprint(const Source *s);
/* The same when its last mount has gone: not known if somebody still claims the device, and does so for
 * longer than a look at it takes. */
Fingerprint source_take_fingerprint(const Source *s);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Names the superblock of a source or mount, finds its mounts and other users, and reads its identity and its
 * fingerprint. */

/* A superblock has one name, whatever source or mount leads to it (Observed.superblock): "device:8:17";
 * "image:8:1:4711" for an image file and loop devices over a whole one, by the file's device and inode;
 * "btrfs:UUID" for a btrfs of several devices, which others may mount. *ret is NULL for network file systems
 * and those without a source; the caller frees *ret. */

/* Names the superblock that mounting the source would make or share. Returns 0 or a negative errno. */
int superblock_name_source(const Source *s, char **ret) _warn_unused_;

/* Whether both sources are one disk or image, by any names. Returns 1, 0 or a negative errno. */
int source_is_same_disk(const Source *a, const Source *b) _warn_unused_;

/* Names the superblock of an open directory. device: its number in the mount table. fd is not opened with
 * O_PATH. Returns 0 or a negative errno. */
int superblock_name_mounted(int fd, dev_t device, char **ret) _warn_unused_;

/* Finds a mounted file system of another disk with the identity of the source's, beside which the kernel may
 * refuse the source. *ret_target is escaped; NULL: none. Returns 0 or a negative errno. */
int superblock_find_copy(const Source *s, char **ret_target) _warn_unused_;

/* Reads the identity of the file system of a source. root: of its mount, open for reading, which tells the
 * subvolume of a btrfs; -EBADF: it is not mounted. */
Identity source_identify(const Source *s, int root);
/* The same of a mount: of the device that the kernel has it on, or of NFS the server and export. */
Identity superblock_identify(int root, const MountFact *fact);
/* Returns the identity that a mark has if superblock_identify() knows none: statfs(2) tells a tmpfs from
 * others. */
Identity superblock_identify_for_mark(int root);

/* Reads the fingerprint of the file system of an open directory. fact: its mount. Not known if the device
 * can't be found. fd is not opened with O_PATH. */
Fingerprint superblock_read_fingerprint(int fd, const MountFact *fact);

/* Whether the device, or a loop device over the image, is in use: by a mount in any namespace, RAID, the
 * device mapper, swap. 0 for SOURCE_NETWORK and SOURCE_NONE. Returns 1, 0 or a negative errno. */
int source_is_claimed(const Source *s) _warn_unused_;

/* The same; ignores users that open the device only briefly, and an unmount that has not ended yet. */
int source_is_claimed_for_long(const Source *s) _warn_unused_;
/* The same of an open block device. */
int device_is_claimed_for_long(int fd) _warn_unused_;

/* Opens the block device of a mount; device: its number in the mount table, which is read for btrfs, whose
 * number is anonymous. Returns a descriptor or a negative errno. */
int superblock_open_device(uint64_t mount_id, const char *device) _warn_unused_;

/* Finds the mounts of the superblock that mounting the source would share. None for SOURCE_NETWORK and
 * SOURCE_NONE: each mount has its own superblock (NFS because context mounts use nosharecache). For an unused
 * block device the mount table isn't read. Release *ret with mount_facts_free(). Returns 0 or a negative
 * errno. */
int source_find_mounts(const Source *s, MountFact **ret, size_t *ret_n) _warn_unused_;

/* Whether a mount is of the source's superblock; without a device, whether it has the same source: the mount
 * table may have another word for the type. Returns 1, 0 or a negative errno. */
int source_is_mounted_as(const Source *s, const MountFact *fact) _warn_unused_;

/* Reads the fingerprint of the file system on disk. Not known for SOURCE_NETWORK and SOURCE_NONE. */
Fingerprint source_read_fingerprint(const Source *s);
/* The same after the last mount is gone; not known if the device is still in use, other than briefly. */
Fingerprint source_take_fingerprint(const Source *s);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "model/settings.h"

/* What a volume's data comes from, kept open, so that the path can't lead elsewhere later. */
typedef struct Source {
        const FileSystem *fs; /* as asked for or found; belongs to the settings */
        char *path;           /* without symbolic links; of network and none as given */
        char *name;           /* the path, escaped, for messages */
        int fd;               /* of a block device or image, for reading */
        bool is_image;        /* a regular file, to be mounted over a loop device */
        bool read_only;       /* the device or the image can't be written */
        dev_t device;         /* of a block device */
        dev_t image_device;   /* of an image: the file system and inode it lies on */
        ino_t image_inode;
} Source;

#define SOURCE_INIT ((Source){ .fd = -EBADF })

void source_done(Source *s);

/* Opens a source. fs_type is "" to detect it, which only works for devices and images. search: whether to look for
 * all types of file systems and compare what is found with fs_type; otherwise only if the superblock is not of fs_type.
 * Returns 0, a negative errno, INVALID_VOLUME (has no file system, for instance), MOUNT_FAILED (what it has can't be read),
 * INCOMPATIBLE (has one of another type), PATH_NOT_ALLOWED (source_path_open(), or the host's own device), TYPE_NOT_ALLOWED,
 * INVALID_OPTION (ext_options_check()), NOT_SUPPORTED (needs the network, which this process may not use; a btrfs of several
 * devices). */
int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, Source *ret,
                Failure *f) _warn_unused_;

/* Whether somebody claims the device, or a loop device over the image: a mount in any namespace, RAID, the device mapper,
 * swap. 0 for the kinds network and none. Returns 1, 0 or a negative errno. */
int source_is_claimed(const Source *s) _warn_unused_;

/* The same of somebody who claims it for longer than a look, or an unmount, takes. */
int source_is_claimed_for_long(const Source *s) _warn_unused_;

/* Mounts of the superblock that mounting the source would share. None for the kinds network and none: each mount has
 * a superblock of its own (NFS because context mounts are made with nosharecache). For a block device that is not in
 * use, the mount table isn't read. *ret is to be released with mount_facts_free(). Returns 0 or a negative errno. */
int source_find_mounts(const Source *s, MountFact **ret, size_t *ret_n) _warn_unused_;

/* Whether a mount is one of the source's superblock. Returns 1, 0 or a negative errno. */
int source_is_mounted_as(const Source *s, const MountFact *fact) _warn_unused_;

/* The fingerprint of the file system as it is on disk. Not known of the kinds network and none. */
Fingerprint source_read_fingerprint(const Source *s);
/* The same when its last mount has gone: not known if somebody still claims the device, and does so for longer than a
 * look at it takes. */
Fingerprint source_take_fingerprint(const Source *s);

/* Whether a block device is read-only, by its number; false for the anonymous devices of NFS, tmpfs and the like. */
bool source_device_is_read_only(dev_t device);

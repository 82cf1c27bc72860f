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

/* Opens a source. fs_type is "" to detect it, which only works for devices and images. search: whether to
 * look for all types of file systems and compare what is found with fs_type; otherwise only if the superblock
 * is not of fs_type. Returns 0, a negative errno, INVALID_VOLUME (has no file system, for instance),
 * MOUNT_FAILED (what it has can't be read), INCOMPATIBLE (has one of another type), PATH_NOT_ALLOWED (not a
 * path for a source, or the host's own device), TYPE_NOT_ALLOWED, INVALID_OPTION (ext_options_check()),
 * NOT_SUPPORTED (needs the network, which this process may not use; a btrfs of several devices). */
int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, Source *ret,
                Failure *f) _warn_unused_;

/* Whether a block device is read-only, by its number; false for the anonymous devices of NFS, tmpfs and the
 * like. */
bool source_device_is_read_only(dev_t device);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "model/settings.h"

/* The source of a volume's data, kept open so that a later change of the path has no effect. */
typedef struct Source {
        const FileSystem *fs; /* requested or found; belongs to the settings */
        char *path;           /* without symbolic links; SOURCE_NETWORK: as given; SOURCE_NONE: the type */
        char *name;           /* the path, escaped, for messages */
        int fd;               /* of a block device or image, for reading */
        bool is_image;        /* a regular file, mounted over a loop device */
        bool read_only;       /* the device or the image can't be written */
        bool write_denied;    /* SELinux, or a server, lets this process only read the image */
        dev_t device;         /* of a block device */
        dev_t image_device;   /* st_dev and st_ino of an image */
        ino_t image_inode;
} Source;

/* For whom a source is opened, which decides about the devices and images that may be one. */
typedef enum SourceUser {
        SOURCE_FOR_ROOT,   /* devices that the host does not use, mount/host-use.h */
        SOURCE_FOR_USER,   /* of those the ones of SourceDevices=, and loop devices over images */
        SOURCE_FOR_SELVOL, /* any: the source was mounted or refused before */
} SourceUser;

#define SOURCE_INIT ((Source){ .fd = -EBADF })

void source_done(Source *s);

/* Opens a source. fs_type "": detect the type, only for devices and images. search: probe for all types and
 * compare the result with fs_type; otherwise probe only if the superblock is not of fs_type. Returns 0, a
 * negative errno, INVALID_VOLUME (no file system, for instance), MOUNT_FAILED (unreadable), INCOMPATIBLE
 * (another type), PATH_NOT_ALLOWED (path not allowed for a source, or a device of the host),
 * TYPE_NOT_ALLOWED, SELINUX_DENIED, INVALID_OPTION (ext_options_check()), NOT_SUPPORTED (needs the network,
 * which this process may not use; a btrfs of several devices). */
int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, SourceUser user,
                Source *ret, Failure *f) _warn_unused_;

/* Checks what an ext2, ext3 or ext4 that was just mounted from the source has: another program may have
 * written to the device between source_open() and the mount. device: of the mount. Returns 0, a negative
 * errno, or as ext_options_check(). */
int source_check_mounted(const Source *s, dev_t device, const Settings *settings, Failure *f) _warn_unused_;

/* Whether the block device with the number is read-only; false for the anonymous devices of NFS, tmpfs and
 * the like. */
bool source_device_is_read_only(dev_t device);

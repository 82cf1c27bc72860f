/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* Loop devices, loop(4). */

/* Parses a name in /sys/block, such as "loop0". Returns whether it is of a loop device. */
bool loop_parse_name(const char *name, dev_t *ret);

/* Reads an attribute of a loop device from sysfs, which asks no file system. Returns 1; 0 if the device is
 * not attached; or a negative errno: -ENAMETOOLONG if a path is too long for sysfs. */
int loop_read_attribute(dev_t device, const char *name, char **ret) _warn_unused_;

/* Attaches a free loop device to the file. The kernel detaches the device after its last user (autoclear);
 * *ret_fd keeps the device attached until the mount; *ret_path is /dev/loopN. LOOP_CONFIGURE: Linux 5.8.
 * Returns 0 or a negative errno. */
int loop_attach(int file_fd, const char *file_path, bool read_only, int *ret_fd, char **ret_path) _warn_unused_;

/* Opens a loop device, /dev/loopN, if it shows the whole file; *ret_fd keeps the device attached.
 * ret_read_only may be NULL. Returns 1; 0 if the device is attached to another file or not at all; or a
 * negative errno. */
int loop_open(dev_t device, dev_t file_device, ino_t file_inode, int *ret_fd, char **ret_path,
              bool *ret_read_only) _warn_unused_;

/* Finds the file of a loop device. Returns 1; 0 if the device shows a part of a file, or is not an attached
 * loop device; or a negative errno. */
int loop_find_image(dev_t device, dev_t *ret_file_device, ino_t *ret_file_inode) _warn_unused_;

/* The image or device that a loop device shows. */
typedef struct LoopBacking {
        char *path;        /* as the kernel shows it; the file may have another name, or none, by now */
        dev_t device;      /* of a block device; 0: an image */
        dev_t file_device; /* st_dev and st_ino of an image */
        ino_t file_inode;
} LoopBacking;

void loop_backing_done(LoopBacking *b);

/* Reads the backing of a loop device, or of the loop device that a partition is on; asks its file. The caller
 * has the device open, so that nobody attaches it to something else. Returns 1; 0 if the device is no loop
 * device; or a negative errno: -ENXIO if nothing is attached. */
int loop_read_backing(dev_t device, LoopBacking *ret) _warn_unused_;

/* Finds a loop device over a device that is none itself, by the names that sysfs shows: no device and no file
 * is asked. Returns 1, 0, or a negative errno. */
int loop_find_over(dev_t device, dev_t *ret) _warn_unused_;

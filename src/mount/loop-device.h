/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Loop devices over image files, loop(4). libmount would set them up by path, and read-only for a read-only
 * mount, so that a later holder could not write. Here the open file is attached, and only the mount is
 * read-only. */

/* Devices of all loop devices over the whole of the file, which the caller frees. They may be attached to
 * other files by now: loop_open() tells. Returns 0 or a negative errno. */
int loop_find(dev_t file_device, ino_t file_inode, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Attaches a free loop device to the file. It is detached with its last user (autoclear); *ret_fd keeps it
 * until it is mounted; *ret_path is /dev/loopN. LOOP_CONFIGURE: Linux 5.8. Returns 0 or a negative errno. */
int loop_attach(int file_fd, const char *file_path, bool read_only, int *ret_fd, char **ret_path) _warn_unused_;

/* Opens a loop device, /dev/loopN, if it shows the whole of the file, which it does as long as *ret_fd is
 * open. ret_read_only may be NULL. Returns 1, 0 if it is attached to something else or not at all, or a
 * negative errno. */
int loop_open(dev_t device, dev_t file_device, ino_t file_inode, int *ret_fd, char **ret_path,
              bool *ret_read_only) _warn_unused_;

/* The file that a loop device shows the whole of. Returns 1; 0 if it shows a part, or is no loop device
 * that is attached; or a negative errno. */
int loop_find_image(dev_t device, dev_t *ret_file_device, ino_t *ret_file_inode) _warn_unused_;

/* Opens the loop device over an image, which is attached if there is none, and detached with the last mount
 * of it. Two over one image would be two superblocks that write to it. locks: Staging's. *ret_path is the
 * caller's. Returns 0, a negative errno, or MOUNT_FAILED. */
int image_open_loop(const Source *s, const char *locks, bool read_only, int *ret_fd, char **ret_path,
                    Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Loop devices over images, loop(4). libmount would attach by path, and read-only for a read-only mount,
 * so a later holder could not write. Here the open file is attached, and only the mount is read-only. */

/* image_open_loop() leaves a symbolic link there for each device that it attaches, with the attachment and
 * the file. The directory is in /run, and only root may write it. */
#define LOOP_LINKS "/run/selvol/loops"

/* Finds all loop devices over the whole file: those that have its last name, those that image_open_loop() has
 * attached to it by any name, and those that others have attached to it on its file system. No other device
 * is asked, as its file's server may not answer. The devices may be attached to other files by now: check
 * with loop_open(). The caller frees *ret. Returns 0 or a negative errno. */
int loop_find(dev_t file_device, ino_t file_inode, const char *file_path, dev_t **ret, size_t *ret_n) _warn_unused_;

/* Opens the loop device over an image; attaches one if there is none. The kernel detaches the device after
 * the image's last mount. Two devices over one image would mean two superblocks that write to the image.
 * locks: as in Staging. *ret_path is the caller's. Returns 0, a negative errno, or MOUNT_FAILED. */
int image_open_loop(const Source *s, const char *locks, bool read_only, int *ret_fd, char **ret_path,
                    Failure *f) _warn_unused_;

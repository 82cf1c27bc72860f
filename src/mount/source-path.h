/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "model/failure.h"
#include "model/settings.h"

/* Opens the path of a block device or image with O_PATH: what is checked is what the descriptor is of.
 *
 * Beneath /dev symbolic links are followed, as udev makes them, and must end on its file system, as must all directories on
 * the way: so /dev/shm and /dev/mqueue, where anybody can make files and links, are no sources, and tell nothing of what is
 * elsewhere. Only block devices are sources there. Beneath the other directories of SourceRoots= no link is followed, and only images are sources: whoever
 * can rename a link or make a device node in a volume would choose the disk otherwise. An image must belong to root, nobody
 * else may be able to change it or what is in a directory above it, and it must not be beneath TargetRoots=: there root is also
 * that of a container, on volumes of the host's own file system too, as an emptyDir; unless ImagesOfOthers= says otherwise.
 *
 * *ret_path is the path without links. Returns 0, a negative errno, INVALID_VOLUME or PATH_NOT_ALLOWED. */
int source_path_open(const char *source, const Settings *settings, int *ret_fd, struct stat *ret_stat,
                     char **ret_path, Failure *f) _warn_unused_;

/* Explains errors of a path that is a source. Returns INVALID_VOLUME, MOUNT_FAILED, or error if it says nothing of the path. */
int source_path_failure(const char *source, int error, Failure *f);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* Finds the type of a device or image, open for reading, whose path is source. fs_type and search: as in
 * source_open(). *ret belongs to the settings. Changes the offset of fd. Returns as source_open(). */
int source_find_type(int fd, const char *source, const char *fs_type, bool search, const Settings *settings,
                     const FileSystem **ret, Failure *f) _warn_unused_;

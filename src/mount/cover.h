/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* Which mounts are hidden by others, told from a mount table alone: no path is looked up, as that may block. */

typedef struct CoverMount {
        uint64_t id, parent; /* proc_pid_mountinfo(5) */
        const char *target;
} CoverMount;

/* For each of the mounts *ret[i] becomes the index of the one that hides it, on top of it or over a directory above; or
 * SIZE_MAX. The mounts are all of the table. *ret is the caller's, to be freed. Returns 0 or -ENOMEM. */
int cover_find(const CoverMount *mounts, size_t n, size_t **ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* What a worker stages with. */
typedef struct Staging {
        const char *directory; /* only root may reach it */
        const char *locks;     /* a file that only root may open, made when it is needed */
        int namespace;         /* for stage_namespace_enter() */
        bool fs_context;       /* by file system contexts where the type can be mounted so (fs-context.h) */
} Staging;

/* How a volume is to be mounted. */
typedef struct StageSpec {
        const Source *source;
        char *const *options;   /* checked with mount_options_check() */
        const char *context;    /* checked with the loaded policy, canonical; "" to mount without */
        const char *superblock; /* what has to come out: superblock_name_source(); NULL: a new one */
        bool read_only;
        bool selinux; /* SELinux is on */
        bool alone;   /* nobody was seen to have it mounted: then nobody's superblock is shared */
        bool swaps;   /* what is shared swaps two groups, and so is the mount to do */
        const Staging *staging;
} StageSpec;

/* What it takes besides the context: the caller's options and what a context mount of the type needs. The caller frees
 * *ret. Returns 0 or -ENOMEM. */
int stage_spec_options(const StageSpec *spec, char ***ret) _warn_unused_;

/* Fills f with MOUNT_FAILED: what the kernel or libmount said, the errno (0: none), and what to do. text is escaped here.
 * Returns MOUNT_FAILED, or -ENOMEM, also if that is the errno: it says nothing of the volume. */
int stage_spec_failure(const StageSpec *spec, const char *text, int number, Failure *f) _warn_unused_;

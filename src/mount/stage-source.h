/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* How to mount a volume, and the first of two ways to stage: a file system context, fsopen(2). The mount is
 * detached until it is published, and the kernel explains errors in words. The second way (stage-namespace.h)
 * is for types with a helper, mount.TYPE, and types that were not tested with the first way. */

/* The worker's resources for staging. */
typedef struct Staging {
        const char *directory; /* only root may reach it */
        const char *locks;     /* a lock file that only root may open, made on demand */
        int namespace;         /* for stage_namespace_enter() */
        bool fs_context;       /* use file system contexts if fs_context_takes() allows it */
} Staging;

/* How to mount a volume. */
typedef struct StageSpec {
        const Source *source;
        char *const *options;   /* checked with mount_options_check() */
        const char *context;    /* checked with the loaded policy, canonical; "": mount without */
        const char *superblock; /* the expected superblock, by superblock_name_source(); NULL: a new one */
        bool read_only;
        bool selinux; /* SELinux is on */
        bool alone;   /* nobody was seen to have the source mounted: share no superblock */
        bool swaps;   /* the shared mount swaps two groups, and the new mount must, too */
        const Staging *staging;
        /* Called right before a superblock that others have mounted is made writable: whether that is
         * allowed. Returns 0, a negative errno, or a failure kind. */
        int (*check_others)(const struct StageSpec *spec, Failure *f);
        const void *userdata; /* of check_others */
} StageSpec;

/* Builds the options except the context: the caller's, and those that a context mount of the type needs. The
 * caller frees *ret. Returns 0 or -ENOMEM. */
int stage_spec_options(const StageSpec *spec, char ***ret) _warn_unused_;

/* Sets f to MOUNT_FAILED with the message of the kernel or libmount, the errno (0: none), and a remedy. text
 * is escaped here, at most EXPLANATION_MAX characters. Returns MOUNT_FAILED; SELINUX_DENIED; or -ENOMEM, also
 * if number is ENOMEM, which is not about the volume. */
int stage_spec_failure(const StageSpec *spec, const char *text, int number, Failure *f) _warn_unused_;
enum { EXPLANATION_MAX = 1024 };

/* Whether libmount would mount the type by a helper, mount.TYPE. */
bool stage_uses_helper(const char *fs_type);

/* Whether spec is mounted by a file system context: the worker supports contexts (Staging.fs_context), the
 * type was seen to work on Linux 6.1, 6.12 and 6.18, and the type has no helper. */
bool fs_context_takes(const StageSpec *spec);

/* Whether this kernel supports file system contexts; tests with a tmpfs. */
bool fs_context_is_supported(void);

/* Mounts spec, with only the attributes nosuid and nodev. exclusive: fail with EBUSY instead of sharing a
 * mounted superblock; kernels before 6.6 can't. *ret_tree is the detached mount, *ret_source the source as
 * the mount table will show it; the caller owns both. Returns 0, a negative errno, SELINUX_DENIED, or
 * MOUNT_FAILED with *ret_errno set: EINVAL also for options that only libmount knows. */
int fs_context_mount(const StageSpec *spec, bool *exclusive, int *ret_tree, char **ret_source, int *ret_errno,
                     Failure *f) _warn_unused_;

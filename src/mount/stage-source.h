/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* How a volume is to be mounted, and the first of the two ways in which the kernel is asked for it: a file
 * system context, fsopen(2). The mount is in no namespace until it is published, and the kernel says in words
 * why it can't be made. The other way (stage-namespace.h) is for types that have a helper, mount.TYPE, or are
 * none of those that were seen to work this way. */

/* The means with which a worker stages. */
typedef struct Staging {
        const char *directory; /* only root may reach it */
        const char *locks;     /* a file that only root may open, made when it is needed */
        int namespace;         /* for stage_namespace_enter() */
        bool fs_context;       /* by file system contexts where the type can be mounted so (fs_context_takes()) */
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

/* The options besides the context: the caller's, and those that a context mount of the type needs. The
 * caller frees *ret. Returns 0 or -ENOMEM. */
int stage_spec_options(const StageSpec *spec, char ***ret) _warn_unused_;

/* Fills f with MOUNT_FAILED: what the kernel or libmount said, the errno (0: none), and what to do. text is
 * escaped here, up to EXPLANATION_MAX characters of it. Returns MOUNT_FAILED, or -ENOMEM, also if that is the
 * errno: it says nothing of the volume. */
int stage_spec_failure(const StageSpec *spec, const char *text, int number, Failure *f) _warn_unused_;
enum { EXPLANATION_MAX = 1024 };

/* Whether libmount would mount the type of file system by a helper, mount.TYPE. */
bool stage_uses_helper(const char *fs_type);

/* Whether spec is mounted by a file system context: if the worker may, if the type is one that was seen to
 * work, on Linux 6.1, 6.12 and 6.18, and if it has no helper. */
bool fs_context_takes(const StageSpec *spec);

/* Whether this kernel can do it: a tmpfs is made. */
bool fs_context_is_supported(void);

/* Mounts spec, without attributes but nosuid and nodev. exclusive: fail with EBUSY where that would share a
 * superblock that is mounted already, which kernels before 6.6 can't tell. *ret_tree is the mount,
 * detached; *ret_source what the mount table will name as its source; the caller's both. Returns 0, a
 * negative errno, or MOUNT_FAILED with *ret_errno filled: EINVAL also for options that only libmount knows.
 */
int fs_context_mount(const StageSpec *spec, bool exclusive, int *ret_tree, char **ret_source, int *ret_errno,
                     Failure *f) _warn_unused_;

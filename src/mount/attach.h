/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* How a volume is to be mounted. */
typedef struct StageSpec {
        const Source *source;
        char *const *options; /* checked with mount_options_check() */
        const char *context;  /* checked with the loaded policy, canonical; "" to mount without */
        bool read_only;
        const char *directory; /* the staging directory: only root may reach it */
        int namespace;         /* to stage in, for stage_namespace_enter() */
} StageSpec;

/* Why mount(2) failed. */
typedef struct AttachError {
        int number; /* errno; 0 if a helper such as mount.nfs(8) failed, which has said why on its standard error */
} AttachError;

/* Whether libmount would mount the type of file system by a helper, mount.TYPE. */
bool attach_uses_helper(const char *fs_type);

/* Mounts on spec's directory, in whatever namespace the caller is in, by libmount: mount(2), or the helper
 * mount.TYPE. An image is mounted over a loop device, which is detached with the mount. fstab and utab are not used.
 * Returns 0, a negative errno, or MOUNT_FAILED with *error filled. */
int attach_file_system(const StageSpec *spec, AttachError *error, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-spec.h"

/* Whether libmount would mount the type of file system by a helper, mount.TYPE. */
bool attach_uses_helper(const char *fs_type);

/* Mounts on spec's directory, in whatever namespace the caller is in, by libmount: mount(2), or the helper
 * mount.TYPE. An image is mounted over a loop device, which is detached with the mount. fstab and utab are not used.
 * Returns 0, a negative errno, or MOUNT_FAILED with *ret_errno filled: 0 if a helper failed, which has said why on its
 * standard error. */
int attach_file_system(const StageSpec *spec, int *ret_errno, Failure *f) _warn_unused_;

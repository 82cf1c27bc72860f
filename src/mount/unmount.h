/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* Unmounts the topmost mount at path if it is the one with the id (0: any) and of the device, "major:minor" as the mount
 * table has it ("": any). A missing directory, no mount and another mount are success with *ret_unmounted false. Returns
 * 0, a negative errno, PATH_NOT_ALLOWED, INVALID_TARGET, or BUSY, also if another mount was unmounted in its place. */
int unmount_target(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                   bool *ret_unmounted, Failure *f) _warn_unused_;

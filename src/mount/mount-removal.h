/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* Unmounts the mount at path with the id and the device ("major:minor", as in the mount table). If the mount
 * is absent, succeeds with *ret_unmounted false. Returns 0; a negative errno; PATH_NOT_ALLOWED;
 * INVALID_TARGET; or BUSY: the mount is in use, or hidden beneath another mount, or another mount was
 * unmounted instead. */
int unmount_target(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                   bool *ret_unmounted, Failure *f) _warn_unused_;

/* Checks that the mount table has no such mount at path, or with id 0 no mount at all. With settings NULL
 * opens nothing. Returns 0 if absent; a negative errno; PATH_NOT_ALLOWED; or INVALID_TARGET, also if the
 * mount is there. */
int unmount_check_absent(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                         Failure *f) _warn_unused_;

/* Checks that a mount to which path does not lead is not hidden at path beneath another mount. Returns 0 if
 * absent; a negative errno; or BUSY. */
int unmount_check_hidden(const char *path, uint64_t mount_id, const char *device, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* Unmounts the mount at path that has the id and is of the device, "major:minor" as the mount table has it.
 * That it is not there is success with *ret_unmounted false. Returns 0; a negative errno; PATH_NOT_ALLOWED;
 * INVALID_TARGET; or BUSY: it is in use, or hidden beneath another mount, or another one was unmounted in its
 * place. */
int unmount_target(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                   bool *ret_unmounted, Failure *f) _warn_unused_;

/* Whether the mount table has no such mount at path, with id 0 none at all. With settings NULL nothing is
 * opened. Returns 0 if so; a negative errno; PATH_NOT_ALLOWED; or INVALID_TARGET, also if it is there. */
int unmount_check_absent(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                         Failure *f) _warn_unused_;

/* Whether a mount that path doesn't lead to is not at path any more either: it may be hidden beneath another
 * one. Returns 0 if it is not; a negative errno; or BUSY. */
int unmount_check_hidden(const char *path, uint64_t mount_id, const char *device, Failure *f) _warn_unused_;

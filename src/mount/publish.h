/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "mount/target.h"

/* Attaches a detached mount to the target, if that is still what was opened and nothing has been mounted on it. This
 * is the moment at which others see the mount. If the directory was moved in that very moment, so that the path doesn't lead to
 * the mount, it is unmounted again where it is. is_canceled is asked just before. Completes outcome's target and mount
 * id. Returns 0, a negative errno, INVALID_TARGET, or CANCELED. */
int publish_mount(int tree, const Target *target, bool (*is_canceled)(void *userdata), void *userdata,
                  MountOutcome *outcome, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "basic/cleanup.h"

/* udev's links to a block device that follow from the device, and not from what is on it: formatting it anew
 * leaves them as they are, and another disk gets others. */

/* Finds the device's own link: /dev/disk/by-id/dm-uuid-*, the first one of another kind in by-id, or one in
 * by-partuuid. *ret is the caller's; NULL: none, as of loop devices, or the device is anonymous. Returns 0 or
 * -ENOMEM. */
int device_find_link(dev_t device, char **ret) _warn_unused_;

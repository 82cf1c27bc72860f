/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount-helper/request.h"

/* The line of fstab(5) with which systemd mounts the volume when selvold runs, and boots without it if that fails. Returns NULL on lack
 * of memory. */
char *fstab_line(const MountRequest *q, const char *type) _warn_unused_;

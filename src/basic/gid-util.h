/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* No group; chown(2) takes it for "as it is". */
#define GID_NONE ((gid_t) -1)

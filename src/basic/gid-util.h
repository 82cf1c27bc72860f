/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* No group; chown(2) then keeps the present one. */
#define GID_NONE ((gid_t) -1)

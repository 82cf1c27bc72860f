/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "core/request.h"

/* Which options a method takes. */
typedef enum OptionSet {
        OPTIONS_TIMEOUT = 1 << 0,
        OPTIONS_LABEL = 1 << 1, /* everything about the context, type and driver, and the holder */
        OPTIONS_MOUNT = 1 << 2, /* file system type, mount options, read-only */
        OPTIONS_DEPTH = 1 << 3,
} OptionSet;

/* Reads an a{sv} of options into the request. Unknown keys, a key twice, and values of another type are
 * INVALID_OPTION. Returns 0, a negative errno, or a failure kind. */
int bus_read_options(sd_bus_message *m, OptionSet set, Request *q, Failure *f);

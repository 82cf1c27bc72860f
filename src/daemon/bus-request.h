/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/request.h"

/* Which options a method takes. */
typedef enum OptionSet {
        OPTIONS_TIMEOUT = 1 << 0,
        OPTIONS_LABEL = 1 << 1,   /* everything about the context, the group, type and driver, and the holder */
        OPTIONS_MOUNT = 1 << 2,   /* file system type, mount options */
        OPTIONS_VERIFY = 1 << 3,  /* how deep */
        OPTIONS_WALK = 1 << 4,    /* how fast */
        OPTIONS_RELABEL = 1 << 5, /* who relabels */
        OPTIONS_FORCE = 1 << 6,
        OPTIONS_READ_ONLY = 1 << 7,
} OptionSet;

typedef enum VerifyDepth { VERIFY_ROOT, VERIFY_FULL, VERIFY_DEPTHS } VerifyDepth;
DECLARE_STRING_TABLE(verify_depth, VerifyDepth);

/* How much VerifyLabel looks at. */
typedef struct VerifyOptions {
        VerifyDepth depth;
} VerifyOptions;

/* Reads an a{sv} of options into the request, and those of OPTIONS_VERIFY into *verify (otherwise NULL). Unknown
 * keys, a key twice, and values of another type are INVALID_OPTION. Returns 0, a negative errno, or a failure kind.
 */
int bus_read_options(sd_bus_message *m, OptionSet set, Request *q, VerifyOptions *verify, Failure *f);

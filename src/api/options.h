/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/request.h"
#include "wire/option-table.h"

/* Reads the method's options, an a{sv}, into the request, and the depth of VerifyLabel into *ret_depth (NULL
 * for other methods). Unknown keys, repeated keys and values of another type are INVALID_OPTION. Returns 0, a
 * negative errno, or a failure kind. */
int options_read(sd_bus_message *m, RequestMethod method, Request *q, VerifyDepth *ret_depth,
                 Failure *f) _warn_unused_;

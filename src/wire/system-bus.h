/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* Connections to the system bus, of selvold and of its callers. Anybody may send signals to any connection,
 * as many and as large as the bus allows, and descriptors with them. So a connection takes no descriptors:
 * the bus refuses messages that have some. And while an answer is awaited, nothing else is kept:
 * sd_bus_call(), and what is made with it, would keep all other messages without a limit. */

/* Like sd_bus_open_system(). Returns 0 or a negative errno. */
int system_bus_open(sd_bus **ret) _warn_unused_;

/* Like sd_bus_call(), but handles and drops each other message at once, and so can't be used in a handler of
 * this connection. timeout_usec: UINT64_MAX waits without a limit; 0 uses the connection's time-out. error
 * and ret may be NULL. Returns 0, or a negative errno with error set. */
int system_bus_call(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, sd_bus_error *error,
                    sd_bus_message **ret) _warn_unused_;

/* Like sd_bus_call_method(), in the connection's time-out. Returns like system_bus_call(). */
int system_bus_call_method(sd_bus *bus, const char *name, const char *path, const char *interface, const char *method,
                           sd_bus_error *error, sd_bus_message **ret, const char *types, ...) _warn_unused_;

/* Like sd_bus_get_property(): the reply is at the property's value. Returns like system_bus_call(); -EBADMSG
 * or -ENXIO if the value has another type. */
int system_bus_get_property(sd_bus *bus, const char *name, const char *path, const char *interface,
                            const char *property, sd_bus_error *error, sd_bus_message **ret,
                            const char *type) _warn_unused_;

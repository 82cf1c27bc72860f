/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "basic/cleanup.h"

/* Makes an event loop with the bus. SIGINT and SIGTERM call on_signal and do not end the program. Returns 0
 * or a negative errno. */
int loop_new(sd_bus *bus, sd_event_signal_handler_t on_signal, void *userdata, sd_event **ret) _warn_unused_;

/* Detaches the bus and frees the loop; event may be NULL. */
void loop_free(sd_bus *bus, sd_event *event);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

/* Whether a call has few values, no descriptors, and bytes_max bytes of strings at most: such a one can be kept, before it is known
 * whether its caller may call at all. It is read from the beginning afterwards. */
bool message_is_small(sd_bus_message *m, size_t bytes_max);

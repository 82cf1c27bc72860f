/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* Read properties of a unit from systemd. interface is the last word of the interface with the property:
 * Unit, Service. */

/* Returns NULL if systemd does not reply, or on lack of memory. */
char *unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property) _warn_unused_;
/* Returns 0 if systemd does not reply. */
uint64_t unit_get_number(sd_bus *bus, const char *unit, const char *interface, const char *property);
/* Returns "enabled", "masked" and the like; NULL if systemd does not reply, or on lack of memory. */
char *unit_get_file_state(sd_bus *bus, const char *unit) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* Properties of a unit, from systemd. interface is the last word of the interface that has the property:
 * Unit, Service. */

/* NULL if it doesn't tell, or on lack of memory. */
char *unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property) _warn_unused_;
/* 0 if it doesn't tell. */
uint64_t unit_get_number(sd_bus *bus, const char *unit, const char *interface, const char *property);
/* "enabled", "masked" and the like; NULL likewise. */
char *unit_get_file_state(sd_bus *bus, const char *unit) _warn_unused_;

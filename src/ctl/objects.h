/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/bus.h"

/* selvold's objects by their properties, without those that have nothing to say. Return as bus_call() does. */

/* The object at a path. */
int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) _warn_unused_;

/* All that have the interface, as an array ordered by Id. */
int objects_get(sd_bus *bus, const char *interface, json_t **ret) _warn_unused_;

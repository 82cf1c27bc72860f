/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/bus.h"

/* selvold's objects as their properties; unset properties are null. Functions return the same as
 * bus_call_method(). */

/* Finds the path of a volume by its id or by a target; a name that looks like a path is a target, if one
 * is held there, and otherwise an id. */
int volume_find(sd_bus *bus, const char *name, char **ret) _warn_unused_;

/* Sets the properties without a value to null. Returns 0 or -ENOMEM. */
int object_clear_unset(json_t *properties) _warn_unused_;

/* Reads the object at a path. */
int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) _warn_unused_;

/* Reads all objects by path, with their interfaces; keeps unset properties as they are. */
int objects_read(sd_bus *bus, json_t **ret) _warn_unused_;

/* Selects the objects that have the interface, as an array ordered by Id. Returns 0 or -ENOMEM. */
int objects_select(json_t *objects, const char *interface, json_t **ret) _warn_unused_;
/* Reads all objects that have the interface, as an array ordered by Id. */
int objects_get(sd_bus *bus, const char *interface, json_t **ret) _warn_unused_;

/* Reads all volumes, and all their holders in one array. */
int volumes_get(sd_bus *bus, json_t **ret, json_t **ret_holders) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/bus.h"

/* selvold's objects by their properties, without those that have nothing to say. Return as bus_call() does.
 * */

/* The path of a volume, by its id, or by a target, which begins with '/' as no id does. */
int volume_find(sd_bus *bus, const char *name, char **ret) _warn_unused_;

/* Makes the properties that have no value, or that selvold does not know, null. Returns 0 or -ENOMEM. */
int object_clear_unset(json_t *properties) _warn_unused_;

/* The object at a path. */
int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) _warn_unused_;

/* All there are, by their paths, with their interfaces: as they are, with what has nothing to say. */
int objects_read(sd_bus *bus, json_t **ret) _warn_unused_;

/* Those of the objects that have the interface, as an array ordered by Id. Returns 0 or -ENOMEM. */
int objects_select(json_t *objects, const char *interface, json_t **ret) _warn_unused_;
/* All that have the interface, likewise. */
int objects_get(sd_bus *bus, const char *interface, json_t **ret) _warn_unused_;

/* All volumes, and all their holders in one array. */
int volumes_get(sd_bus *bus, json_t **ret, json_t **ret_holders) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/gid-util.h"
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "ctl/bus-objects.h"

/* Whether a property has no value. D-Bus has no unset properties: selvold then sends "", the path of no
 * object, no group, or 0 for a time or an estimate. */
static bool property_is_unset(const char *name, const json_t *value) {
        if (streq(name, "DiskGroup"))
                return json_integer_value(value) == GID_NONE;
        if (strstr(name, "USec") || streq(name, "EntriesTotal") || streq(name, "EntriesPerSecond"))
                return json_integer_value(value) == 0;
        return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0);
}

int object_clear_unset(json_t *properties) {
        const char *name;
        json_t *value;

        json_object_foreach (properties, name, value)
                if (property_is_unset(name, value) && json_object_set_new(properties, name, json_null()) < 0)
                        return -ENOMEM;
        return 0;
}

/* An id may begin as a path does. */
static int find_by_path(sd_bus *bus, const char *name, sd_bus_message **ret) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *target = path_make_clean(name);
        int r;

        if (!target)
                return -errno;
        r = bus_try_method(bus, &error, ret, MANAGER_PATH, MANAGER_INTERFACE, "GetVolumeByTarget", "s", target);
        if (r >= 0 || !sd_bus_error_is_set(&error))
                return r;
        if (sd_bus_error_has_name(&error, ERROR_PREFIX "NoSuchVolume") &&
            bus_try_method(bus, NULL, ret, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", "s", name) >= 0)
                return 0;
        return bus_report_error(target, &error);
}

int volume_find(sd_bus *bus, const char *name, char **ret) {
        _cleanup_message_ sd_bus_message *found = NULL;
        const char *path;
        int r;

        r = path_is_meant(name)
                    ? find_by_path(bus, name, &found)
                    : bus_call_method(bus, name, &found, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", "s", name);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        return r < 0 ? r : free_and_strdup(ret, path);
}

int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = bus_call_method(bus, subject, &reply, path, PROPERTIES_INTERFACE, "GetAll", "s", interface);
        if (r != 0)
                return r;
        r = answer_read(reply, ret);
        if (r < 0)
                return r;
        return object_clear_unset(*ret);
}

static int compare_ids(const void *a, const void *b) {
        const json_t *x = json_object_get(*(json_t *const *) a, "Id"),
                     *y = json_object_get(*(json_t *const *) b, "Id");
        json_int_t m = json_integer_value(x), n = json_integer_value(y);

        if (m != n)
                return m < n ? -1 : 1;
        return strcmp(strempty(json_string_value(x)), strempty(json_string_value(y)));
}

int objects_select(json_t *objects, const char *interface, json_t **ret) {
        _cleanup_free_ json_t **found = calloc(json_object_size(objects) + 1, sizeof(json_t *));
        _cleanup_json_ json_t *array = json_array();
        const char *path;
        json_t *object;
        size_t n = 0;

        if (!found || !array)
                return -ENOMEM;
        json_object_foreach (objects, path, object)
                if (json_object_get(object, interface))
                        found[n++] = json_object_get(object, interface);
        qsort(found, n, sizeof(json_t *), compare_ids);
        for (size_t i = 0; i < n; i++) {
                if (object_clear_unset(found[i]) < 0 || json_array_append(array, found[i]) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(array);
        return 0;
}

int objects_read(sd_bus *bus, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, "org.freedesktop.DBus.ObjectManager",
                            "GetManagedObjects", NULL);
        return r != 0 ? r : answer_read(reply, ret);
}

int objects_get(sd_bus *bus, const char *interface, json_t **ret) {
        _cleanup_json_ json_t *objects = NULL;
        int r;

        r = objects_read(bus, &objects);
        return r != 0 ? r : objects_select(objects, interface, ret);
}

int volumes_get(sd_bus *bus, json_t **ret, json_t **ret_holders) {
        _cleanup_json_ json_t *volumes = NULL, *holders = json_array();
        json_t *volume;
        size_t i;
        int r;

        if (!holders)
                return -ENOMEM;
        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        json_array_foreach (volumes, i, volume) {
                json_t *own = json_object_get(volume, "Holders");

                if (json_is_array(own) && json_array_extend(holders, own) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(volumes);
        *ret_holders = TAKE_PTR(holders);
        return 0;
}

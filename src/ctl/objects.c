/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "ctl/objects.h"

/* Properties are always there: without a value they are "", no object, no group, or a time of 0. */
static bool property_is_unset(const char *name, const json_t *value) {
        if (streq(name, "DiskGroup"))
                return json_integer_value(value) == GID_NONE;
        if (strstr(name, "USec"))
                return json_integer_value(value) == 0;
        return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0);
}

static void drop_unset(json_t *properties) {
        const char *name;
        json_t *value;
        void *next;

        json_object_foreach_safe (properties, next, name, value)
                if (property_is_unset(name, value))
                        (void) json_object_del(properties, name);
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
        drop_unset(*ret);
        return 0;
}

static int compare(const void *a, const void *b) {
        const json_t *x = json_object_get(*(json_t *const *) a, "Id"),
                     *y = json_object_get(*(json_t *const *) b, "Id");
        json_int_t m = json_integer_value(x), n = json_integer_value(y);

        if (m != n)
                return m < n ? -1 : 1;
        return strcmp(strempty(json_string_value(x)), strempty(json_string_value(y)));
}

static int select_objects(json_t *objects, const char *interface, json_t *array) {
        _cleanup_free_ json_t **found = calloc(json_object_size(objects) + 1, sizeof(json_t *));
        const char *path;
        json_t *object;
        size_t n = 0;

        if (!found)
                return -ENOMEM;
        json_object_foreach (objects, path, object)
                if (json_object_get(object, interface))
                        found[n++] = json_object_get(object, interface);
        qsort(found, n, sizeof(json_t *), compare);
        for (size_t i = 0; i < n; i++) {
                drop_unset(found[i]);
                if (json_array_append(array, found[i]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int objects_get(sd_bus *bus, const char *interface, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *objects = NULL, *array = json_array();
        int r;

        if (!array)
                return -ENOMEM;
        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, "org.freedesktop.DBus.ObjectManager",
                            "GetManagedObjects", NULL);
        if (r != 0)
                return r;
        r = answer_read(reply, &objects);
        if (r < 0)
                return r;
        r = select_objects(objects, interface, array);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(array);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/systemd.h"
#include "wire/system-bus.h"

#define SYSTEMD_NAME      "org.freedesktop.systemd1"
#define SYSTEMD_PATH      "/org/freedesktop/systemd1"
#define SYSTEMD_INTERFACE "org.freedesktop.systemd1"

/* Returns 0, or a negative errno that has no meaning for users. */
static int get_property(sd_bus *bus, const char *unit, const char *interface, const char *property, const char *type,
                        sd_bus_message **ret) {
        _cleanup_free_ char *path = NULL, *name = strdup_printf("%s.%s", SYSTEMD_INTERFACE, interface);
        int r;

        if (!name)
                return -ENOMEM;
        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);
        return r < 0 ? r : system_bus_get_property(bus, SYSTEMD_NAME, path, name, property, NULL, ret, type);
}

char *unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *s;

        if (get_property(bus, unit, interface, property, "s", &reply) < 0 || sd_bus_message_read(reply, "s", &s) < 0)
                return NULL;
        return strdup(s);
}

uint64_t unit_get_number(sd_bus *bus, const char *unit, const char *interface, const char *property) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        uint64_t number;

        if (get_property(bus, unit, interface, property, "t", &reply) < 0 ||
            sd_bus_message_read(reply, "t", &number) < 0)
                return 0;
        return number;
}

char *unit_get_file_state(sd_bus *bus, const char *unit) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *state;

        if (system_bus_call_method(bus, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_INTERFACE ".Manager", "GetUnitFileState",
                                   NULL, &reply, "s", unit) < 0 ||
            sd_bus_message_read(reply, "s", &state) < 0)
                return NULL;
        return strdup(state);
}

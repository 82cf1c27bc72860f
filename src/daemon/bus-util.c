/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "wire/protocol.h"
#include "daemon/bus-util.h"

int bus_open_option(sd_bus_message *m, const char *key, const char *type) {
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(m, "s", key);
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'v', type);
        return r;
}

int bus_close_option(sd_bus_message *m) {
        int r;

        r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int bus_append_option(sd_bus_message *m, const char *key, const char *type, ...) {
        va_list ap;
        int r;

        r = bus_open_option(m, key, type);
        if (r < 0)
                return r;
        va_start(ap, type);
        r = sd_bus_message_appendv(m, type, ap);
        va_end(ap);
        return r < 0 ? r : bus_close_option(m);
}

int bus_append_strv(sd_bus_message *m, const char *key, char **l) {
        int r;

        r = bus_open_option(m, key, "as");
        if (r >= 0)
                r = sd_bus_message_append_strv(m, l);
        return r < 0 ? r : bus_close_option(m);
}

int bus_error_set_failure(sd_bus_error *error, const Failure *f) {
        _cleanup_free_ char *name = strdup_printf(ERROR_PREFIX "%s", failure_kind_to_string(f->kind));

        return name ? sd_bus_error_set(error, name, f->message) : -ENOMEM;
}

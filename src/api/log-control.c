/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "api/log-control.h"

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"

static int get_log_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", log_level_to_string(log_get_level()));
}

static int set_log_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *value, void *userdata, sd_bus_error *error) {
        const char *level;
        int r;

        r = sd_bus_message_read(value, "s", &level);
        if (r < 0)
                return r;
        r = log_set_level_from_string(level);
        if (r < 0)
                return sd_bus_error_set(
                        error, SD_BUS_ERROR_INVALID_ARGS,
                        "LogLevel takes emerg, alert, crit, err, warning, notice, info, debug, or 0 to 7.");
        log_notice("Log level set to %s.", log_level_to_string(log_get_level()));
        return 0;
}

static int get_log_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", log_get_target());
}

static int get_syslog_identifier(sd_bus *bus, const char *path, const char *interface, const char *property,
                                 sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", program_invocation_short_name);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_log_level, set_log_level, 0, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("LogTarget", "s", get_log_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_syslog_identifier, 0, 0),
        SD_BUS_VTABLE_END,
};

int log_control_register(sd_bus *bus) {
        return sd_bus_add_object_vtable(bus, NULL, LOG_CONTROL_PATH, LOG_CONTROL_INTERFACE, vtable, NULL);
}

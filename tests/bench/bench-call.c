/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"

enum { TIMEOUT_USEC = 60 * 1000000 };

#define SERVICE "org.selvol1", "/org/selvol1", "org.selvol1.Manager"

sd_bus *bus_open(void) {
        sd_bus *bus = NULL;
        int r = sd_bus_open_system(&bus);

        if (r < 0)
                fail("the system bus can't be reached: %s", strerror(-r));
        return bus;
}

static sd_bus_message *new_call(sd_bus *bus, const char *method, const char *volume, const char *source,
                                const char *target) {
        sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, SERVICE, method);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", volume);
        if (r >= 0 && source)
                r = sd_bus_message_append(m, "s", source);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", target);
        if (r < 0)
                fail("%s: %s", method, strerror(-r));
        return m;
}

static double send_call(sd_bus *bus, sd_bus_message *m, const char *volume) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        double start = now_usec(), end;
        int r;

        r = sd_bus_call(bus, m, TIMEOUT_USEC, &error, NULL);
        end = now_usec();
        if (r < 0)
                fail("%s of %s: %s: %s", sd_bus_message_get_member(m), volume, error.name ?: strerror(-r),
                     strempty(error.message));
        return end - start;
}

double call_mount(sd_bus *bus, const MountCall *c) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m =
                new_call(bus, "MountVolume", c->volume, c->source, c->target);
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(m, "{sv}{sv}{sv}", "FSType", "s", c->fs_type, "Holder", "s", c->target,
                                          "AccessMode", "s", c->shared ? "ReadWriteOnce" : "ReadWriteOncePod");
        if (r >= 0 && c->level)
                r = sd_bus_message_append(m, "{sv}{sv}{sv}", "SELinuxRelabelPolicy", "s", "MountOption",
                                          "SELinuxMountSupported", "b", 1, "SELinuxLevel", "s", c->level);
        if (r >= 0 && c->group != 0)
                r = sd_bus_message_append(m, "{sv}{sv}{sv}", "FSGroup", "u", c->group, "FSGroupPolicy", "s", "File",
                                          "FSGroupChangePolicy", "s", "OnRootMismatch");
        if (r >= 0 && streq(c->fs_type, "tmpfs"))
                r = sd_bus_message_append(m, "{sv}", "MountOptions", "as", 1, "size=1m");
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        if (r < 0)
                fail("MountVolume: %s", strerror(-r));
        return send_call(bus, m, c->volume);
}

static double call_plainly(sd_bus *bus, const char *method, const char *volume, const char *source,
                           const char *target) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_call(bus, method, volume, source, target);
        int r;

        r = sd_bus_message_append(m, "a{sv}", 0);
        if (r < 0)
                fail("%s: %s", method, strerror(-r));
        return send_call(bus, m, volume);
}

double call_unmount(sd_bus *bus, const char *volume, const char *target) {
        return call_plainly(bus, "UnmountVolume", volume, NULL, target);
}

double call_plan(sd_bus *bus, const char *volume, const char *source, const char *target) {
        return call_plainly(bus, "PlanVolume", volume, source, target);
}

double call_holders(sd_bus *bus, const char *volume) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_path_encode("/org/selvol1/volume", volume, &path);
        if (r >= 0)
                r = sd_bus_message_new_method_call(bus, &m, "org.selvol1", path, "org.freedesktop.DBus.Properties",
                                                   "Get");
        if (r >= 0)
                r = sd_bus_message_append(m, "ss", "org.selvol1.Volume", "Holders");
        if (r < 0)
                fail("Holders: %s", strerror(-r));
        return send_call(bus, m, volume);
}

double call_list(sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, "org.selvol1", "/org/selvol1",
                                           "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
        if (r < 0)
                fail("GetManagedObjects: %s", strerror(-r));
        return send_call(bus, m, "all");
}

pid_t service_pid(sd_bus *bus) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        pid_t pid;

        /* sd_bus_get_name_creds() does not start the service, and a call of a method would. */
        if (sd_bus_get_name_creds(bus, "org.selvol1", SD_BUS_CREDS_PID, &creds) < 0 ||
            sd_bus_creds_get_pid(creds, &pid) < 0)
                return 0;
        return pid;
}

double service_metric(sd_bus *bus, const char *name) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text, *value;
        int r;

        r = sd_bus_call_method(bus, SERVICE, "GetMetrics", &error, &reply, "");
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                fail("GetMetrics: %s", error.message ?: strerror(-r));
        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                value = startswith(line, name);
                if (value && *value == ' ')
                        return strtod(value, NULL);
        }
        return 0;
}

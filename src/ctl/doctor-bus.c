/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/doctor.h"
#include "ctl/bus-objects.h"
#include "ctl/systemd.h"
#include "wire/system-bus.h"

enum { ANSWER_SEC = 5 };

static int list_names(sd_bus *bus, const char *method, char ***ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = system_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   method, NULL, &reply, NULL);
        return r < 0 ? r : sd_bus_message_read_strv(reply, ret);
}

static int read_names(sd_bus *bus, NodeFacts *n) {
        _cleanup_strv_ char **acquired = NULL, **activatable = NULL;
        int r;

        r = list_names(bus, "ListNames", &acquired);
        if (r >= 0)
                r = list_names(bus, "ListActivatableNames", &activatable);
        if (r < 0)
                return r;
        n->running = strv_contains(acquired, BUS_NAME);
        n->bus_name = n->running || strv_contains(activatable, BUS_NAME) ? YES : NO;
        n->polkit = strv_contains(acquired, "org.freedesktop.PolicyKit1") ||
                                    strv_contains(activatable, "org.freedesktop.PolicyKit1")
                            ? YES
                            : NO;
        return 0;
}

static void take_newest(NodeFacts *n, const json_t *objects, const char *key) {
        const json_t *object;
        size_t i;

        json_array_foreach (objects, i, object)
                if (answer_number(object, key) > n->newest_usec)
                        n->newest_usec = answer_number(object, key);
}

static int read_volumes(sd_bus *bus, NodeFacts *n) {
        _cleanup_json_ json_t *volumes = NULL, *holders = NULL;
        int r;

        r = volumes_get(bus, &volumes, &holders);
        if (r != 0)
                return r < 0 ? r : 0;
        take_newest(n, volumes, "LastVerifiedUSec");
        take_newest(n, holders, "SinceUSec");
        /* selvold may have recorded volumes after the first reading of the clock. */
        n->now_usec = now_realtime_usec();
        return facts_read_kept(n, volumes);
}

static int read_property(sd_bus *bus, const char *property, sd_bus_error *error, char **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = system_bus_get_property(bus, BUS_NAME, MANAGER_PATH, MANAGER_INTERFACE, property, error, &reply, "s");
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "s", &text);
        return r < 0 ? r : free_and_strdup(ret, text);
}

/* A selvold of an earlier version has no such properties. */
static void read_configurations(sd_bus *bus, NodeFacts *n) {
        (void) read_property(bus, "Configuration", NULL, &n->in_force);
        (void) read_property(bus, "WorkerConfiguration", NULL, &n->in_worker);
}

static int read_service(sd_bus *bus, NodeFacts *n) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = read_property(bus, "Version", &error, &n->version);
        if (r >= 0) {
                read_configurations(bus, n);
                return read_volumes(bus, n);
        }
        n->call_error = strdup(error.message ?: strerror(-r));
        n->call_error_name = strdup(strempty(error.name));
        return n->call_error && n->call_error_name ? 0 : -ENOMEM;
}

int facts_read_bus(NodeFacts *n) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = system_bus_open(&bus);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, ANSWER_SEC * USEC_PER_SEC);
        if (r >= 0)
                r = read_names(bus, n);
        if (r < 0) {
                n->bus_error = strdup(strerror(-r));
                return n->bus_error ? 0 : -ENOMEM;
        }
        n->service_file_state = unit_get_file_state(bus, "selvold.service");
        n->service_state = unit_get_string(bus, "selvold.service", "Unit", "ActiveState");
        n->socket_state = unit_get_string(bus, "selvol-worker.socket", "Unit", "ActiveState");
        return n->running ? read_service(bus, n) : 0;
}

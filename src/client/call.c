/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "basic/cleanup.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "client/call.h"

/* selvold answers within milliseconds: what takes long is done by its worker. */
#define PING_TIMEOUT_USEC (10 * USEC_PER_SEC)

/* A second at least: who has just been started answers within that, and it is not SELinux that takes the
 * time. */
static uint64_t time_left(uint64_t start, uint64_t timeout_usec) {
        uint64_t passed = now_monotonic_usec() - start;

        if (timeout_usec == UINT64_MAX)
                return UINT64_MAX;
        return passed + USEC_PER_SEC < timeout_usec ? timeout_usec - passed : USEC_PER_SEC;
}

/* Does not start selvold. */
static int ping(sd_bus *bus, uint64_t timeout_usec, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, MANAGER_PATH, "org.freedesktop.DBus.Peer", "Ping");
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = sd_bus_message_set_auto_start(call, false);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        return sd_bus_call(bus, call, timeout_usec < PING_TIMEOUT_USEC ? timeout_usec : PING_TIMEOUT_USEC, error,
                           NULL);
}

/* The bus itself answers, whether or not selvold's answers arrive. */
static int start_service(sd_bus *bus, uint64_t timeout_usec, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                           "org.freedesktop.DBus", "StartServiceByName");
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = sd_bus_message_append(call, "su", BUS_NAME, 0U);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = sd_bus_call(bus, call, timeout_usec, error, NULL);
        if (r < 0 && sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT)) {
                /* That name stands for answers that don't arrive. */
                sd_bus_error_free(error);
                (void) sd_bus_error_set(error, "org.freedesktop.DBus.Error.TimedOut",
                                        "it takes longer than this call may");
        }
        return r;
}

static int check_answers(sd_bus *bus, bool start, uint64_t timeout_usec, sd_bus_error *error) {
        _cleanup_error_ sd_bus_error absent = SD_BUS_ERROR_NULL;
        uint64_t begun = now_monotonic_usec();
        int r;

        r = ping(bus, timeout_usec, &absent);
        if (r >= 0)
                return 0;
        if (!sd_bus_error_has_names(&absent, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER)) {
                sd_bus_error_move(error, &absent);
                return r;
        }
        if (!start)
                return 0;
        r = start_service(bus, time_left(begun, timeout_usec), error);
        if (r < 0)
                return r;
        r = ping(bus, time_left(begun, timeout_usec), error);
        return r < 0 ? r : 0;
}

int call_open(bool start, uint64_t timeout_usec, sd_bus **ret, sd_bus_error *error) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r < 0) {
                (void) sd_bus_error_setf(error, SD_BUS_ERROR_NO_SERVER, "Can't connect to the system bus: %s",
                                         strerror(-r));
                return r;
        }
        r = check_answers(bus, start, timeout_usec, error);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

int call_new(sd_bus *bus, sd_bus_message **ret, const char *path, const char *interface, const char *method,
             const char *types, va_list ap) {
        _cleanup_message_ sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, BUS_NAME, path, interface, method);
        if (r < 0)
                return r;
        if (types) {
                r = sd_bus_message_appendv(m, types, ap);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(m);
        return 0;
}

int call_new_request(sd_bus *bus, sd_bus_message **ret, const OptionValue values[static REQUEST_OPTIONS],
                     const char *method, const char *types, va_list ap) {
        _cleanup_message_ sd_bus_message *m = NULL;
        int r;

        r = call_new(bus, &m, MANAGER_PATH, MANAGER_INTERFACE, method, types, ap);
        if (r < 0)
                return r;
        r = values_append(m, values);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(m);
        return 0;
}

int call_read_strings(sd_bus_message *m, const StringMember *members, size_t n) {
        const char *name;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r <= 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                const StringMember *member = NULL;

                r = sd_bus_message_read(m, "s", &name);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < n; i++)
                        if (streq(members[i].name, name))
                                member = &members[i];
                r = member ? sd_bus_message_read(m, "v", "s", member->value) : sd_bus_message_skip(m, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 1;
}

int call_manager(sd_bus *bus, const OptionValue values[static REQUEST_OPTIONS], uint64_t timeout_usec,
                 sd_bus_message **ret, sd_bus_error *error, const char *method, const char *types, ...) {
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_new_request(bus, &call, values, method, types, ap);
        va_end(ap);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = sd_bus_call(bus, call, timeout_usec, error, ret);
        return r < 0 ? r : 0;
}

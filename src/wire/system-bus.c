/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "wire/system-bus.h"

/* sd_bus_open_system() starts the connection, after which the descriptors can't be declined. */
int system_bus_open(sd_bus **ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address ?: "unix:path=/run/dbus/system_bus_socket");
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, true);
        if (r < 0)
                return r;
        r = sd_bus_negotiate_fds(bus, false);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(sd_bus_message **) userdata = sd_bus_message_ref(m);
        return 0;
}

int system_bus_call(sd_bus *bus, sd_bus_message *call, uint64_t timeout_usec, sd_bus_error *error,
                    sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *pending = NULL;
        uint64_t start;
        int r;

        if (timeout_usec == 0) {
                r = sd_bus_get_method_call_timeout(bus, &timeout_usec);
                if (r < 0)
                        return sd_bus_error_set_errno(error, r);
        }
        /* The loop makes the error of a time-out: that of sd-bus would look like a lost service. */
        r = sd_bus_call_async(bus, &pending, call, on_answer, &reply, UINT64_MAX);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        start = now_monotonic_usec();
        while (!reply) {
                uint64_t passed = now_monotonic_usec() - start;

                if (passed >= timeout_usec)
                        return sd_bus_error_set_errno(error, -ETIMEDOUT);
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, timeout_usec == UINT64_MAX ? UINT64_MAX : timeout_usec - passed);
                if (r < 0 && r != -EINTR)
                        return sd_bus_error_set_errno(error, r);
        }
        if (sd_bus_message_is_method_error(reply, NULL))
                return sd_bus_error_copy(error, sd_bus_message_get_error(reply));
        if (ret)
                *ret = TAKE_PTR(reply);
        return 0;
}

int system_bus_call_method(sd_bus *bus, const char *name, const char *path, const char *interface, const char *method,
                           sd_bus_error *error, sd_bus_message **ret, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, name, path, interface, method);
        if (r >= 0 && types) {
                va_list ap;

                va_start(ap, types);
                r = sd_bus_message_appendv(call, types, ap);
                va_end(ap);
        }
        return r < 0 ? sd_bus_error_set_errno(error, r) : system_bus_call(bus, call, 0, error, ret);
}

int system_bus_get_property(sd_bus *bus, const char *name, const char *path, const char *interface,
                            const char *property, sd_bus_error *error, sd_bus_message **ret, const char *type) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = system_bus_call_method(bus, name, path, "org.freedesktop.DBus.Properties", "Get", error, &reply, "ss",
                                   interface, property);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'v', type);
        if (r <= 0)
                return sd_bus_error_set_errno(error, r < 0 ? r : -EBADMSG);
        *ret = TAKE_PTR(reply);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "client/client-call.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "wire/system-bus.h"

/* For calls with an immediate reply, unless polkit asks a person for a password. */
#define CALL_TIMEOUT_USEC (5 * 60 * USEC_PER_SEC)

/* The options for printing errors; set once for the run of the program. */
static const Args *output = &(const Args){ 0 };

/* Takes errors in place of standard output; NULL: none. */
static json_t *collected;

void bus_collect_errors(const Args *a, json_t *array) {
        collected = args_have(a, SWITCH_JSON) ? array : NULL;
}

/* With --json an error is an object, so that a script can tell errors apart by name. */
static int print_json_error(const Args *a, const char *subject, const char *error_name, const char *text) {
        const char *name = startswith(error_name, ERROR_PREFIX);
        _cleanup_json_ json_t *object = json_pack("{s:s*, s:s, s:s}", "Subject", subject, "ErrorName",
                                                  name ? name : error_name, "ErrorMessage", text);

        if (!object)
                return -ENOMEM;
        if (collected)
                return json_array_append(collected, object) < 0 ? -ENOMEM : 0;
        return print_json(a, object);
}

int report_failure(const Args *a, const char *subject, const char *error_name, const char *text) {
        int r = 0;

        if (args_have(a, SWITCH_JSON))
                r = print_json_error(a, subject, error_name, text);
        else
                report_error(subject, text);
        return r < 0 ? r : exit_code_of(error_name);
}

int bus_report_error(const char *subject, const sd_bus_error *error) {
        const char *message = strempty(error->message);
        _cleanup_free_ char *text =
                args_have(output, SWITCH_JSON) ? strdup(message) : explain_error("--", error->name, message);

        return text ? report_failure(output, subject, error->name, text) : -ENOMEM;
}

int bus_report_errno(const Args *a, int r) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;

        output = a;
        (void) sd_bus_error_set_errno(&error, r);
        return bus_report_error(NULL, &error);
}

int bus_open(const Args *a, bool start, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        output = a;
        r = call_open(start, UINT64_MAX, &bus, &error);
        if (r < 0)
                return bus_report_error(NULL, &error);
        r = sd_bus_set_allow_interactive_authorization(bus, !args_have(a, SWITCH_NO_ASK_PASSWORD));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(bus);
        return 0;
}

int bus_find_service(sd_bus *bus, char **ret_owner) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *owner;
        int r;

        r = system_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   "GetNameOwner", &error, &reply, "s", BUS_NAME);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                return 0;
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "s", &owner);
        if (r < 0)
                return r;
        r = free_and_strdup(ret_owner, owner);
        return r < 0 ? r : 1;
}

static int call_method(sd_bus *bus, sd_bus_error *error, sd_bus_message **ret, const char *path,
                       const char *interface, const char *method, const char *types, va_list ap) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = call_new(bus, &call, path, interface, method, types, ap);
        return r < 0 ? r : system_bus_call(bus, call, CALL_TIMEOUT_USEC, error, ret);
}

int bus_try_method(sd_bus *bus, sd_bus_error *error, sd_bus_message **ret, const char *path, const char *interface,
                   const char *method, const char *types, ...) {
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_method(bus, error, ret, path, interface, method, types, ap);
        va_end(ap);
        return r;
}

int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_method(bus, &error, ret, path, interface, method, types, ap);
        va_end(ap);
        return sd_bus_error_is_set(&error) ? bus_report_error(subject, &error) : r;
}

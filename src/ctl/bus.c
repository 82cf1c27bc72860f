/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/terminal.h"

/* Of calls that are answered at once, unless polkit asks a person for a password. */
#define CALL_TIMEOUT_USEC (5 * 60 * USEC_PER_SEC)

int exit_code_of(const char *error_name) {
        static const struct {
                const char *name;
                int code;
        } table[] = {
                { "ContextConflict", EXIT_CONFLICT },
                { "GroupConflict", EXIT_CONFLICT },
                { SD_BUS_ERROR_ACCESS_DENIED, EXIT_DENIED },
                { SD_BUS_ERROR_AUTH_FAILED, EXIT_DENIED },
                { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, EXIT_DENIED },
        };
        const char *short_name = startswith(error_name, ERROR_PREFIX);

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(short_name ? short_name : error_name, table[i].name))
                        return table[i].code;
        return EXIT_FAILURE;
}

int bus_open(const Args *a, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r < 0) {
                fprintf(stderr, "selvolctl: can't connect to the system bus: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }
        r = sd_bus_set_allow_interactive_authorization(bus, !args_have(a, SWITCH_NO_ASK_PASSWORD));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(bus);
        return 0;
}

int bus_new_call(sd_bus *bus, sd_bus_message **ret, const char *path, const char *interface, const char *method,
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

static int append_list(sd_bus_message *m, const char *name, char **list) {
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", name);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "as");
        if (r < 0)
                return r;
        r = sd_bus_message_append_strv(m, list);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(m);
}

static int append_option(sd_bus_message *m, const RequestOption *o, const OptionValue *v) {
        switch (o->type[0]) {
        case 'b':
                return sd_bus_message_append(m, "{sv}", o->name, "b", (int) v->number);
        case 't':
                return sd_bus_message_append(m, "{sv}", o->name, "t", v->number);
        case 'u':
                return sd_bus_message_append(m, "{sv}", o->name, "u", (uint32_t) v->number);
        case 'a':
                return append_list(m, o->name, v->list);
        default:
                return sd_bus_message_append(m, "{sv}", o->name, "s", v->string);
        }
}

int bus_append_options(sd_bus_message *m, const Args *a) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                if (!a->values[i].set)
                        continue;
                r = append_option(m, &request_options[i], &a->values[i]);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

/* The bus' own words for a service that isn't there name neither the service nor what to do. */
int bus_report_error(const char *subject, const sd_bus_error *error) {
        _cleanup_free_ char *text = NULL;

        if (sd_bus_error_has_names(error, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                text = strdup_printf("selvold is not running (%s): see 'systemctl status selvold'", error->message);
        report_error(subject, text ? text : strempty(error->message));
        return exit_code_of(error->name);
}

int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = bus_new_call(bus, &call, path, interface, method, types, ap);
        va_end(ap);
        if (r < 0)
                return r;
        r = sd_bus_call(bus, call, CALL_TIMEOUT_USEC, &error, ret);
        if (r >= 0)
                return 0;
        return sd_bus_error_is_set(&error) ? bus_report_error(subject, &error) : r;
}

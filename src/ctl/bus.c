/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bus.h"
#include "ctl/colour.h"
#include "ctl/format.h"

static void report(const char *subject, const char *message, const char *colour) {
        _cleanup_free_ char *what = string_escape(strempty(subject), 300), *why = format_text(message);

        fprintf(stderr, "selvolctl: %s%s%s%s%s\n", strempty(what), isempty(what) ? "" : ": ", strempty(colour),
                strempty(why), colour ? COLOUR_OFF : "");
}

void report_error(const char *subject, const char *message) {
        report(subject, message, colours_wanted(STDERR_FILENO) ? COLOUR_RED : NULL);
}

void report_note(const char *subject, const char *message) {
        report(subject, message, NULL);
}

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

uint64_t job_id_of(const char *path) {
        const char *number = startswith(path, JOB_PREFIX "/");
        unsigned long long id;

        return number && parse_u64(number, &id) >= 0 ? id : 0;
}

int bus_open(const Args *a, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_set_allow_interactive_authorization(bus, a->ask_password);
        if (r < 0) {
                fprintf(stderr, "selvolctl: can't connect to the system bus: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }

        *ret = TAKE_PTR(bus);
        return 0;
}

int bus_new_call(sd_bus *bus, const char *path, const char *interface, const char *method, sd_bus_message **ret) {
        return sd_bus_message_new_method_call(bus, ret, SERVICE, path, interface, method);
}

static int append_value(sd_bus_message *m, const char *signature, const OptionValue *v) {
        switch (signature[0]) {
        case 'b':
                return sd_bus_message_append(m, "b", (int) v->boolean);
        case 't':
                return sd_bus_message_append(m, "t", v->number);
        case 'u':
                return sd_bus_message_append(m, "u", (uint32_t) v->number);
        case 'a':
                return sd_bus_message_append_strv(m, v->list);
        default:
                return sd_bus_message_append(m, "s", v->string);
        }
}

int bus_append_options(sd_bus_message *m, const Args *a) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        for (size_t i = 0; r >= 0 && i < REQUEST_OPTIONS; i++) {
                const RequestOptionInfo *info = &request_options[i];

                if (!a->values[i].set)
                        continue;
                r = sd_bus_message_open_container(m, 'e', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(m, "s", info->key);
                if (r >= 0)
                        r = sd_bus_message_open_container(m, 'v', info->signature);
                if (r >= 0)
                        r = append_value(m, info->signature, &a->values[i]);
                if (r >= 0)
                        r = sd_bus_message_close_container(m);
                if (r >= 0)
                        r = sd_bus_message_close_container(m);
        }
        return r < 0 ? r : sd_bus_message_close_container(m);
}

/* The bus' own words for a service that isn't there name neither the service nor what to do. */
int report_bus_error(const char *subject, const sd_bus_error *error) {
        _cleanup_free_ char *text = NULL;

        if (sd_bus_error_has_names(error, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                text = strdup_printf("selvold is not there (%s): see 'systemctl status selvold'", error->message);
        report_error(subject, text ? text : strempty(error->message));
        return exit_code_of(error->name);
}

int bus_call(sd_bus *bus, sd_bus_message *m, const char *subject, Patience patience, sd_bus_message **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_call(bus, m, patience == ANSWER_SOON ? 0 : UINT64_MAX, &error, ret);
        if (r >= 0)
                return 0;
        if (!sd_bus_error_is_set(&error))
                return r;

        return report_bus_error(subject, &error);
}

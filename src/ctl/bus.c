/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "basic/gid-util.h"
#include "basic/path-util.h"
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

int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_new(bus, &call, path, interface, method, types, ap);
        va_end(ap);
        if (r >= 0)
                r = system_bus_call(bus, call, CALL_TIMEOUT_USEC, &error, ret);
        return sd_bus_error_is_set(&error) ? bus_report_error(subject, &error) : r;
}

/* --- an event loop --- */

int loop_new(sd_bus *bus, sd_event_signal_handler_t on_signal, void *userdata, sd_event **ret) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        static const int signals[] = { SIGINT, SIGTERM };
        int r;

        r = sd_event_new(&event);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                r = sd_event_add_signal(event, NULL, signals[i] | SD_EVENT_SIGNAL_PROCMASK, on_signal, userdata);
                if (r < 0)
                        return r;
        }
        r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(event);
        return 0;
}

void loop_free(sd_bus *bus, sd_event *event) {
        if (event)
                (void) sd_bus_detach_event(bus);
        sd_event_unref(event);
}

/* --- objects --- */

/* Whether a property has no value. D-Bus has no unset properties: selvold then sends "", the path of no
 * object, no group, or 0 for a time or an estimate. */
static bool property_is_unset(const char *name, const json_t *value) {
        if (streq(name, "DiskGroup"))
                return json_integer_value(value) == GID_NONE;
        if (strstr(name, "USec") || streq(name, "EntriesTotal") || streq(name, "EntriesPerSecond"))
                return json_integer_value(value) == 0;
        return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0);
}

int object_clear_unset(json_t *properties) {
        const char *name;
        json_t *value;

        json_object_foreach (properties, name, value)
                if (property_is_unset(name, value) && json_object_set_new(properties, name, json_null()) < 0)
                        return -ENOMEM;
        return 0;
}

int volume_find(sd_bus *bus, const Args *a, const char *operand, char **ret) {
        const bool by_target = operand_is_target(a, operand);
        _cleanup_free_ char *target = by_target ? path_make_clean(operand) : NULL;
        const char *subject = by_target ? target : operand, *path;
        _cleanup_message_ sd_bus_message *found = NULL;
        int r;

        if (!subject)
                return -errno;
        r = bus_call_method(bus, subject, &found, MANAGER_PATH, MANAGER_INTERFACE,
                            by_target ? "GetVolumeByTarget" : "GetVolume", "s", subject);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        return r < 0 ? r : free_and_strdup(ret, path);
}

int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = bus_call_method(bus, subject, &reply, path, PROPERTIES_INTERFACE, "GetAll", "s", interface);
        if (r != 0)
                return r;
        r = answer_read(reply, ret);
        if (r < 0)
                return r;
        return object_clear_unset(*ret);
}

static int compare_ids(const void *a, const void *b) {
        const json_t *x = json_object_get(*(json_t *const *) a, "Id"),
                     *y = json_object_get(*(json_t *const *) b, "Id");
        json_int_t m = json_integer_value(x), n = json_integer_value(y);

        if (m != n)
                return m < n ? -1 : 1;
        return strcmp(strempty(json_string_value(x)), strempty(json_string_value(y)));
}

/* Selects the objects that have the interface, as an array ordered by Id. Returns 0 or -ENOMEM. */
static int objects_select(json_t *objects, const char *interface, json_t **ret) {
        _cleanup_json_ json_t *array = json_array();
        const char *path;
        json_t *object;
        int r;

        if (!array)
                return -ENOMEM;
        json_object_foreach (objects, path, object) {
                json_t *found = json_object_get(object, interface);

                if (found && (object_clear_unset(found) < 0 || json_array_append(array, found) < 0))
                        return -ENOMEM;
        }
        r = answer_sort(array, compare_ids);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(array);
        return 0;
}

int objects_read(sd_bus *bus, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, "org.freedesktop.DBus.ObjectManager",
                            "GetManagedObjects", NULL);
        return r != 0 ? r : answer_read(reply, ret);
}

int objects_call_new(sd_bus *bus, sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, MANAGER_PATH, "org.freedesktop.DBus.ObjectManager",
                                           "GetManagedObjects");
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(call, false);
        if (r < 0)
                return r;
        r = sd_bus_message_set_allow_interactive_authorization(call, false);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(call);
        return 0;
}

int objects_get(sd_bus *bus, const char *interface, json_t **ret) {
        _cleanup_json_ json_t *objects = NULL;
        int r;

        r = objects_read(bus, &objects);
        return r != 0 ? r : objects_select(objects, interface, ret);
}

int volumes_get(sd_bus *bus, json_t **ret, json_t **ret_holders) {
        _cleanup_json_ json_t *volumes = NULL, *holders = json_array();
        json_t *volume;
        size_t i;
        int r;

        if (!holders)
                return -ENOMEM;
        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        json_array_foreach (volumes, i, volume) {
                json_t *own = json_object_get(volume, "Holders");

                if (json_is_array(own) && json_array_extend(holders, own) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(volumes);
        *ret_holders = TAKE_PTR(holders);
        return 0;
}

/* --- units of systemd --- */

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

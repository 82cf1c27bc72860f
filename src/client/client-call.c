/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "client/client-call.h"
#include "wire/system-bus.h"

/* selvold answers within milliseconds: its worker does everything that takes longer. */
#define PING_TIMEOUT_USEC (10 * USEC_PER_SEC)

/* Returns the rest of the time, but at least a second: a selvold that has just started answers within that,
 * so a time-out means that SELinux dropped the reply. */
static uint64_t time_left(uint64_t start, uint64_t timeout_usec) {
        uint64_t passed = now_monotonic_usec() - start;

        if (timeout_usec == UINT64_MAX)
                return UINT64_MAX;
        return passed + USEC_PER_SEC < timeout_usec ? timeout_usec - passed : USEC_PER_SEC;
}

/* Calls Ping without starting selvold. */
static int ping_service(sd_bus *bus, uint64_t timeout_usec, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, MANAGER_PATH, "org.freedesktop.DBus.Peer", "Ping");
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = sd_bus_message_set_auto_start(call, false);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        return system_bus_call(bus, call, timeout_usec < PING_TIMEOUT_USEC ? timeout_usec : PING_TIMEOUT_USEC, error,
                               NULL);
}

/* Asks the bus to start selvold: the reply of the bus arrives even if SELinux drops those of selvold. */
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
        r = system_bus_call(bus, call, timeout_usec, error, NULL);
        if (r < 0 && sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT)) {
                /* explain_error() takes SD_BUS_ERROR_TIMEOUT for a reply that SELinux dropped. */
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

        r = ping_service(bus, timeout_usec, &absent);
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
        r = ping_service(bus, time_left(begun, timeout_usec), error);
        return r < 0 ? r : 0;
}

int call_open(bool start, uint64_t timeout_usec, sd_bus **ret, sd_bus_error *error) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = system_bus_open(&bus);
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
        return system_bus_call(bus, call, timeout_usec, error, ret);
}

/* --- errors in words --- */

/* Finds the option whose name in double quotes begins at p; NULL if there is none. */
static const RequestOption *find_marked(const char *p) {
        for (size_t i = 0; *p == '"' && i < REQUEST_OPTIONS; i++) {
                const char *rest = startswith(p + 1, request_options[i].name);

                if (rest && *rest == '"')
                        return &request_options[i];
        }
        return NULL;
}

char *explain_text(const char *prefix, const char *text) {
        _cleanup_free_ char *result = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&result, &size);

        if (!stream)
                return NULL;
        while (*text) {
                const RequestOption *o = find_marked(text);

                if (o) {
                        fprintf(stream, "%s%s", prefix, o->long_name);
                        text += strlen(o->name) + strlen("\"\"");
                } else
                        fputc(*text++, stream);
        }
        return fclose(stream) == 0 ? TAKE_PTR(result) : NULL;
}

/* Whether the bus failed to start the service. */
static bool is_about_start(const char *name) {
        return startswith(name, "org.freedesktop.systemd1.") ||
               startswith(name, "org.freedesktop.DBus.Error.Spawn.") ||
               streq(name, "org.freedesktop.DBus.Error.TimedOut");
}

static bool is_unknown(const char *name) {
        return streq(name, SD_BUS_ERROR_SERVICE_UNKNOWN) || streq(name, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

bool explain_is_absent(const char *name) {
        return is_unknown(name) || is_about_start(name) || streq(name, SD_BUS_ERROR_NO_SERVER);
}

bool explain_is_outside(const char *name) {
        return name && (streq(name, ERROR_PREFIX "PathNotAllowed") || streq(name, ERROR_PREFIX "NoSuchVolume"));
}

/* The SELinux type of this process, for a policy module; NULL if there is none, for example with SELinux
 * off. */
static char *own_domain(void) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/attr/current", "re");
        char *domain = NULL;

        return f && fscanf(f, "%*[^:]:%*[^:]:%m[^:]", &domain) == 1 ? domain : NULL;
}

static char *explain_selinux(const char *what, const char *domain) {
        return strdup_printf("%s Allow it in a policy module: selvol_dbus_chat(%s), see selvol-integration(7).", what,
                             domain ?: "DOMAIN");
}

char *explain_error(const char *prefix, const char *name, const char *message) {
        static const struct {
                const char *name, *when, *remedy;
        } table[] = {
                { ERROR_PREFIX "NoSuchVolume", "is not known", "'selvolctl list' shows all volumes." },
                { ERROR_PREFIX "NoSuchJob", "is not known", "'selvolctl jobs' shows all jobs." },
                { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, "",
                  "Call it as root or on a terminal, or add a rule for polkit, see selvold(8)." },
        };
        _cleanup_free_ char *text = explain_text(prefix, message), *domain = own_domain();

        if (!text)
                return NULL;
        if (is_unknown(name))
                return strdup_printf("selvold is not running (%s). See 'systemctl status selvold'.", text);
        /* systemd's words for a masked unit, with an error of errno(3), if the unit has an alias. */
        if (is_about_start(name) || strstr(text, " failed to load properly"))
                return strdup_printf(
                        "selvold does not start (%s). See 'systemctl status selvold'; if it is masked, 'systemctl unmask selvold'.",
                        text);
        /* The messages of dbus-daemon and dbus-broker both have this word. */
        if (streq(name, SD_BUS_ERROR_NO_REPLY) && strstr(text, "disconnected"))
                return strdup(
                        "selvold ended before it answered. Try again; 'systemctl status selvold' shows why it ended.");
        if (streq(name, SD_BUS_ERROR_NO_REPLY) && !strstr(text, "timeout"))
                return strdup("The system bus ended the connection before selvold answered. Try again.");
        if (streq(name, SD_BUS_ERROR_TIMEOUT) || streq(name, SD_BUS_ERROR_NO_REPLY))
                return domain ? explain_selinux(
                                        "selvold runs, but no answer of it arrives. Most likely SELinux drops its answers to this process: 'ausearch -m USER_AVC' shows that.",
                                        domain)
                              : strdup("selvold runs, but does not answer. See 'systemctl status selvold'.");
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) && strstr(text, "SELinux policy"))
                return explain_selinux("SELinux keeps this process from calling selvold.", domain);
        /* Messages of selvold itself name polkit, those of the bus don't. */
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) && !strstr(text, "polkit"))
                return strdup(
                        "Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on.");
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].name, name) && strstr(text, table[i].when))
                        return strdup_printf("%s %s", text, table[i].remedy);
        return TAKE_PTR(text);
}

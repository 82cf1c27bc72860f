/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-bus.h>

#include "basic/string-util.h"
#include "client/explain.h"
#include "wire/names.h"
#include "wire/option-table.h"

/* The option whose name in double quotes begins at p; NULL if none does. */
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

/* What the bus says if it can't start the service. */
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
        return name && streq(name, ERROR_PREFIX "PathNotAllowed");
}

/* The SELinux type of this process, which a policy has to name; NULL if it has none, as where SELinux is
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
        if (is_about_start(name))
                return strdup_printf(
                        "selvold does not start (%s). See 'systemctl status selvold'; if it is masked, 'systemctl unmask selvold'.",
                        text);
        /* The words of dbus-daemon and of dbus-broker have this one in common. */
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
        /* selvold's own words name polkit. */
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) && !strstr(text, "polkit"))
                return strdup(
                        "Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on.");
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].name, name) && strstr(text, table[i].when))
                        return strdup_printf("%s %s", text, table[i].remedy);
        return TAKE_PTR(text);
}

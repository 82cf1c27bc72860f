/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>

#include <systemd/sd-bus.h>

#include "basic/string-util.h"
#include "client/explain.h"
#include "wire/names.h"
#include "wire/options.h"

/* "SELinuxLevel" and "FSGroup" are no words of English; "Holder" and "Force" are, and are options only where that is said, or
 * where they have a value. */
static bool is_plain_word(const char *name) {
        for (const char *p = name + 1; *p; p++)
                if (isupper((unsigned char) *p))
                        return false;
        return true;
}

static bool ends_in(const char *start, const char *end, const char *word) {
        size_t n = strlen(word);

        return (size_t) (end - start) >= n && strncmp(end - n, word, n) == 0;
}

/* The option that text names at p, which is the beginning of a word. "Name=" without a value is a setting of selvol.conf(5), and so
 * is what is said to be configured. */
static const RequestOption *find_option(const char *text, const char *p) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                const RequestOption *o = &request_options[i];
                const char *rest = startswith(p, o->name);

                if (!rest || isalnum((unsigned char) rest[0]) ||
                    (rest[0] == '=' && !isalnum((unsigned char) rest[1])))
                        continue;
                if (startswith(rest, "=no is configured") ||
                    (is_plain_word(o->name) && rest[0] != '=' && !ends_in(text, p, "Option ")))
                        continue;
                return o;
        }
        return NULL;
}

char *explain_text(const char *prefix, const char *text) {
        _cleanup_free_ char *result = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&result, &size);

        if (!stream)
                return NULL;
        for (const char *p = text; *p;) {
                const RequestOption *o = p == text || strchr(" (", p[-1]) ? find_option(text, p) : NULL;

                if (o) {
                        fprintf(stream, "%s%s", prefix, o->long_name);
                        p += strlen(o->name);
                } else
                        fputc(*p++, stream);
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

static bool is_conflict(const char *name) {
        return streq(name, ERROR_PREFIX "ContextConflict") || streq(name, ERROR_PREFIX "GroupConflict");
}

bool explain_is_absent(const char *name) {
        return is_unknown(name) || is_about_start(name) || streq(name, SD_BUS_ERROR_NO_SERVER);
}

bool explain_is_outside(const char *name) {
        return name && streq(name, ERROR_PREFIX "PathNotAllowed");
}

/* The SELinux type of this process, which a policy has to name; NULL if it has none, as where SELinux is off. */
static char *own_domain(void) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/attr/current", "re");
        char *domain = NULL;

        return f && fscanf(f, "%*[^:]:%*[^:]:%m[^:]", &domain) == 1 ? domain : NULL;
}

static char *explain_selinux(const char *what, const char *domain) {
        return strdup_printf("%s Allow it in a policy module: selvol_dbus_chat(%s), see selvol-integration(7).", what,
                             domain ?: "DOMAIN");
}

static char *explain_silence(const char *domain) {
        if (!domain)
                return strdup("selvold runs, but does not answer. See 'systemctl status selvold'.");
        return explain_selinux(
                "selvold runs, but no answer of it arrives. Most likely SELinux drops its answers to this process: 'ausearch -m USER_AVC' shows that.",
                domain);
}

/* Of "Volume A is in use, held by H" and "Volume A is in use, held as volume B by H" what shows H. */
static char *explain_conflict(const char *text) {
        const char *other = strstr(text, " held as volume "), *id;

        id = other ? startswith(other, " held as volume ") : startswith(text, "Volume ");
        id = id ? id : "VOLUME";
        return strdup_printf("%s 'selvolctl show %.*s' lists the holders.", text, (int) strcspn(id, " "), id);
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
                return explain_silence(domain);
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) && strstr(text, "SELinux policy"))
                return explain_selinux("SELinux keeps this process from calling selvold.", domain);
        /* selvold's own words name polkit. */
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) && !strstr(text, "polkit"))
                return strdup(
                        "Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on.");
        if (is_conflict(name) && strstr(text, " held "))
                return explain_conflict(text);
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].name, name) && strstr(text, table[i].when))
                        return strdup_printf("%s %s", text, table[i].remedy);
        return TAKE_PTR(text);
}

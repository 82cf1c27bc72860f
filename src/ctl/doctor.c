/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pwd.h>
#include <stdarg.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/bus.h"
#include "ctl/doctor.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "wire/system-bus.h"

enum { ANSWER_SEC = 5 };

bool doctor_failed(Doctor *d, int r) {
        if (r < 0 && d->error == 0)
                d->error = r;
        return r < 0;
}

const char *doctor_keep(Doctor *d, char *s) {
        return doctor_failed(d, strv_consume(&d->texts, s)) ? "" : s;
}

const char *doctor_string(Doctor *d, const char *s) {
        return doctor_keep(d, format_string(strempty(s)));
}

const char *doctor_path(Doctor *d, const char *path) {
        return doctor_keep(d, strdup_printf("%s%s", d->root, path));
}

int doctor_stat(Doctor *d, const char *path, struct stat *ret) {
        struct stat st;

        if (stat(doctor_path(d, path), ret ?: &st) >= 0)
                return 0;
        return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
}

const Mount *doctor_find_slow_mount(const MountTable *table, const char *path) {
        static const char *const types[] = { "nfs", "cifs", "smb", "ceph", "fuse", "9p", "afs", "autofs", "gluster" };
        const Mount *found = NULL;

        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++)
                if ((streq(m->target, path) || path_is_beneath(path, m->target)) &&
                    (!found || strlen(m->target) >= strlen(found->target)))
                        found = m;
        for (size_t i = 0; found && i < ELEMENTSOF(types); i++)
                if (startswith(found->fs_type, types[i]))
                        return found;
        return NULL;
}

void doctor_found(Doctor *d, FindingState state, const char *format, ...) {
        static const char *const words[FINDING_STATES] = {
                [OK] = "ok", [NOTE] = "note", [WARNING] = "warning", [PROBLEM] = "problem", [UNKNOWN] = "unknown"
        };
        _cleanup_free_ char *text = NULL;
        char *remedy;
        va_list ap;

        va_start(ap, format);
        text = strdup_vprintf(format, ap);
        va_end(ap);
        if (!text) {
                (void) doctor_failed(d, -ENOMEM);
                return;
        }
        remedy = strchr(text, '\n');
        if (remedy)
                *remedy++ = '\0';
        if (json_array_append_new(d->findings, json_pack("{s:s, s:s, s:s, s:s*}", "Check", d->check, "State",
                                                         words[state], "Text", text, "Remedy", remedy)) < 0)
                (void) doctor_failed(d, -ENOMEM);
        d->n_found[state]++;
}

static int add_names(Doctor *d, const char *method) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_strv_ char **names = NULL;
        int r;

        r = system_bus_call_method(d->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                   method, NULL, &reply, NULL);
        if (r < 0)
                return r;
        r = sd_bus_message_read_strv(reply, &names);
        if (r < 0)
                return r;
        d->running = d->running || (streq(method, "ListNames") && strv_contains(names, BUS_NAME));
        STRV_FOREACH (name, names)
                if (r >= 0)
                        r = strv_extend(&d->names, *name);
        return r;
}

static int read_property(Doctor *d, const char *property, sd_bus_error *error, char **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = system_bus_get_property(d->bus, BUS_NAME, MANAGER_PATH, MANAGER_INTERFACE, property, error, &reply, "s");
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &text);
        return r < 0 ? r : free_and_strdup(ret, text);
}

/* A failure of the bus, or of selvold, is something to be found. */
static int read_bus(Doctor *d) {
        int r;

        r = system_bus_open(&d->bus);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(d->bus, ANSWER_SEC * USEC_PER_SEC);
        if (r >= 0)
                r = add_names(d, "ListNames");
        if (r >= 0)
                r = add_names(d, "ListActivatableNames");
        if (r < 0) {
                d->bus = sd_bus_close_unref(d->bus); /* no check waits for it */
                return free_and_strdup(&d->bus_error, strerror(-r));
        }
        if (!d->running)
                return 0;
        r = read_property(d, "Version", &d->call_error, &d->version);
        if (r < 0) {
                if (!sd_bus_error_is_set(&d->call_error))
                        (void) sd_bus_error_set_errno(&d->call_error, r);
                return 0;
        }
        (void) read_property(d, "Configuration", NULL, &d->in_force);
        (void) read_property(d, "WorkerConfiguration", NULL, &d->in_worker);
        r = volumes_get(d->bus, &d->volumes, &d->holders);
        return r < 0 ? r : 0;
}

/* Fills in the members that several checks use. Returns 0 or a negative errno. */
static int doctor_begin(Doctor *d) {
        const struct passwd *user = getpwuid(geteuid());
        _cleanup_failure_ Failure f = { 0 };
        int r;

        *d = (Doctor){ .root = "", .is_root = geteuid() == 0, .findings = json_array() };
        d->user = user ? strdup(user->pw_name) : strdup_printf("uid %u", (unsigned) geteuid());
        if (!d->user || !d->findings)
                return -ENOMEM;
        r = settings_load(NULL, NULL, &d->settings, &f);
        if (r < 0)
                return r;
        d->mistake = TAKE_PTR(f.message);
        return read_bus(d);
}

static void doctor_end(Doctor *d) {
        free(d->user);
        settings_done(&d->settings);
        free(d->mistake);
        sd_bus_flush_close_unref(d->bus);
        free(d->bus_error);
        strv_free(d->names);
        free(d->version);
        sd_bus_error_free(&d->call_error);
        free(d->in_force);
        free(d->in_worker);
        json_decref(d->volumes);
        json_decref(d->holders);
        json_decref(d->findings);
        strv_free(d->texts);
}

/* --- the verb --- */

enum { STATE_WIDTH = 9, CHECK_WIDTH = 10 };

int doctor_check(Doctor *d) {
        static const Check *const lists[] = { service_checks, node_checks };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                for (const Check *c = lists[i]; c->name; c++) {
                        d->check = c->name;
                        c->look(d);
                }
        return d->error;
}

static int print_finding(const json_t *finding) {
        _cleanup_free_ char *text = format_escaped(answer_string(finding, "Text")),
                            *remedy = format_escaped(answer_string(finding, "Remedy"));
        const char *state = answer_string(finding, "State");
        const char *color = terminal_has_colors(STDOUT_FILENO) ? field_color("State", state) : NULL;

        if (!text || !remedy)
                return -ENOMEM;

        printf("%s%-*s%s%-*s%s\n", strempty(color), STATE_WIDTH, state, color ? COLOR_OFF : "", CHECK_WIDTH,
               answer_string(finding, "Check"), text);
        if (!isempty(remedy))
                printf("%*sTo do: %s\n", STATE_WIDTH + CHECK_WIDTH, "", remedy);
        return 0;
}

static void print_count(const char *before, size_t n, const char *what) {
        printf("%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static int print_findings(const Args *a, const Doctor *d) {
        const json_t *finding;
        size_t i;

        if (args_have(a, SWITCH_JSON))
                return print_json(a, d->findings);
        json_array_foreach (d->findings, i, finding) {
                int r;

                if (args_have(a, SWITCH_QUIET) && isempty(answer_string(finding, "Remedy")))
                        continue;
                r = print_finding(finding);
                if (r < 0)
                        return r;
        }
        if (args_have(a, SWITCH_NO_LEGEND) || args_have(a, SWITCH_QUIET))
                return 0;
        print_count("\n", d->n_found[PROBLEM], "problem");
        print_count(", ", d->n_found[WARNING], "warning");
        if (d->n_found[NOTE] > 0)
                print_count(", ", d->n_found[NOTE], "note");
        puts(".");
        return 0;
}

int verb_doctor(const Args *a) {
        _cleanup_(doctor_end) Doctor d = { 0 };
        int r;

        r = doctor_begin(&d);
        if (r < 0)
                return r;
        r = doctor_check(&d);
        if (r < 0)
                return r;
        r = print_findings(a, &d);
        if (r < 0)
                return r;
        return d.n_found[PROBLEM] > 0 ? EXIT_FAILURE : 0;
}

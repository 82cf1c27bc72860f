/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "run.h"

/* selvold and selvol-worker never work with different configurations. ImagesOfOthers=, which only the worker
 * enforces, tells which configuration a call meets. */

enum { EXIT_SKIPPED = 77, OTHER_UID = 1000 };

#define DROPIN "selvol.conf.d/50-local.conf"

static Environment e;

static void write_files(const char *text) {
        g_autofree char *path = g_build_filename(e.service.etc, DROPIN, NULL);

        file_write(path, text);
}

static GVariant *call(const char *interface, const char *method, GVariant *arguments, GError **error) {
        return g_dbus_connection_call_sync(e.bus, "org.selvol1", "/org/selvol1", interface, method, arguments, NULL,
                                           G_DBUS_CALL_FLAGS_NONE, WAIT_SEC * 1000, NULL, error);
}

static GVariant *plan(GError **error) {
        const TestVolume *v = &e.volumes[0];

        return call("org.selvol1.Manager", "PlanVolume",
                    g_variant_new("(sss@a{sv})", v->id, v->source, e.targets[0], g_variant_new("a{sv}", NULL)),
                    error);
}

static void act(char step) {
        g_autoptr(GVariant) ignored = NULL;

        switch (step) {
        case 'y':
                write_files("[Worker]\nImagesOfOthers=yes\n");
                break;
        case 'n':
                write_files("[Worker]\nImagesOfOthers=no\n");
                break;
        case 'm':
                write_files("[Worker]\nImagesOfOthers=perhaps\n");
                break;
        case 'd':
        case 'w':
                (void) environment_kill(&e, step == 'd' ? VICTIM_DAEMON : VICTIM_WORKER, -1);
                environment_restart(&e, step == 'd' ? VICTIM_DAEMON : VICTIM_WORKER, false);
                /* A call waits until the worker has started, and has read the files. */
                if (step == 'w')
                        ignored = plan(NULL);
                break;
        default:
                must(kill(step == 'r' ? e.daemon : e.worker, SIGHUP));
                break;
        }
}

static char *get_digest(const char *property) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) reply = call("org.freedesktop.DBus.Properties", "Get",
                                         g_variant_new("(ss)", "org.selvol1.Manager", property), &error),
                            text = NULL;

        g_assert_no_error(error);
        g_variant_get(reply, "(v)", &text);
        return g_variant_dup_string(text, NULL);
}

/* Whether a call has the outcome, and doctor would be told so. */
static bool comes_to(const char *outcome) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) reply = plan(&error);
        g_autofree char *in_force = get_digest("Configuration"), *in_worker = get_digest("WorkerConfiguration");

        if (g_str_equal(outcome, "differs"))
                return error && strstr(error->message, "another configuration") &&
                       strstr(error->message, "'systemctl reload selvold'") && !g_str_equal(in_force, in_worker);
        if (!g_str_equal(in_force, in_worker))
                return false;
        return g_str_equal(outcome, "yes") ? reply != NULL
                                           : error && strstr(error->message, "can be changed by others than root");
}

static const struct {
        const char *steps; /* from files with "yes" on, which both have read */
        const char *outcome;
        const char *what;
} rows[] = {
        { "n", "yes", "files that nobody has read" },
        { "nd", "no", "restart of selvold" },
        { "nr", "no", "reload of selvold" },
        { "nw", "differs", "restart of selvol-worker" },
        { "nR", "differs", "reload of selvol-worker" },
        { "nwr", "no", "restart of selvol-worker, reload of selvold" },
        { "nRr", "no", "reload of both" },
        { "nwd", "no", "restart of both" },
        { "ndw", "no", "restart of both, selvold first" },
        { "nwy", "yes", "files as before" },
        { "mr", "yes", "reload with a mistake" },
        { "mR", "yes", "reload of selvol-worker with a mistake" },
        { "mrnr", "no", "a mistake that was corrected, reload" },
        { "mrnd", "no", "a mistake that was corrected, restart" },
        { "nwmr", "differs", "restart of selvol-worker, and a mistake" },
        { "nwmryr", "yes", "that mistake, corrected" },
};

static bool check_row(size_t i) {
        bool ok;

        act('y');
        act('w');
        act('d');
        for (const char *step = rows[i].steps; *step; step++)
                act(*step);
        ok = HOLDS_WITHIN(WAIT_SEC, comes_to(rows[i].outcome));
        if (!ok)
                print_log(e.log);
        return run_report(ok, (int) i + 1, rows[i].what);
}

int main(int argc, char **argv) {
        bool ok = true;

        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        if (!namespace_enter())
                return EXIT_SKIPPED;
        environment_start(&e);
        must(chown(e.volumes[0].source, OTHER_UID, OTHER_UID));
        g_print("1..%zu\n", G_N_ELEMENTS(rows));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                ok = check_row(i) && ok;
        environment_stop(&e);
        return ok ? 0 : 1;
}

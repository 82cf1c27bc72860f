/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "ctl-support.h"
#include "queue.h"
#include "support/service.h"

enum { CALL_TIMEOUT_USEC = 120 * G_USEC_PER_SEC };

static void export_interfaces(Fixture *f, const char *path, const char *xml) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GDBusNodeInfo) node = g_dbus_node_info_new_for_xml(xml, &error);

        g_assert_no_error(error);
        for (size_t i = 0; node->interfaces[i]; i++) {
                gt_dbus_queue_export_object(f->queue, path, node->interfaces[i], &error);
                g_assert_no_error(error);
        }
}

static void export_file(Fixture *f, const char *path, const char *file) {
        g_autofree char *name = g_test_build_filename(G_TEST_DIST, "dbus", file, NULL), *xml = NULL;
        g_autoptr(GError) error = NULL;

        g_file_get_contents(name, &xml, NULL, &error);
        g_assert_no_error(error);
        export_interfaces(f, path, xml);
}

void fixture_set_up(Fixture *f, gconstpointer data) {
        g_autoptr(GError) error = NULL;

        /* A bus that inherits GTestDBus' pipe would outlive a failed test, which then would not end. */
        (void) close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
        f->journal = g_dir_make_tmp("selvolctl-journal-XXXXXX", &error);
        g_assert_no_error(error);
        g_setenv("SELVOL_JOURNAL", f->journal, TRUE);
        f->queue = gt_dbus_queue_new();
        gt_dbus_queue_connect(f->queue, &error);
        g_assert_no_error(error);
        f->name_id = gt_dbus_queue_own_name(f->queue, "org.selvol1");
        export_file(f, "/org/selvol1", "org.selvol1.Manager.xml");
        export_file(f, PVC1, "org.selvol1.Volume.xml");
        export_file(f, JOB6, "org.selvol1.Job.xml");
        export_file(f, JOB7, "org.selvol1.Job.xml");
        export_interfaces(f, "/org/selvol1",
                          "<node><interface name='org.freedesktop.DBus.ObjectManager'>"
                          "<method name='GetManagedObjects'><arg type='a{oa{sa{sv}}}' direction='out'/></method>"
                          "</interface></node>");
        /* gt_dbus_queue_own_name() does not wait for the name. */
        WAIT_FOR(bus_has_name(gt_dbus_queue_get_client_connection(f->queue), "org.selvol1"));
}

void release_name(Fixture *f) {
        queue_unown_name(f->queue, f->name_id, "org.selvol1", OBJECTS);
        f->name_id = 0;
}

void fixture_tear_down(Fixture *f, gconstpointer data) {
        g_autofree char *remove = g_strdup_printf("rm -r '%s'", f->journal);

        g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
        g_clear_pointer(&f->journal, g_free);
        if (f->name_id > 0)
                release_name(f);
        gt_dbus_queue_disconnect(f->queue, TRUE);
        g_clear_pointer(&f->queue, gt_dbus_queue_free);
}

static GSubprocess *start(const char *command, int out, int err) {
        g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(
                (out < 0 ? G_SUBPROCESS_FLAGS_STDOUT_PIPE : 0) | (err < 0 ? G_SUBPROCESS_FLAGS_STDERR_PIPE : 0));
        g_autofree char *line = g_strdup_printf("%s %s", g_getenv("SELVOLCTL"), command);
        g_auto(GStrv) argv = NULL;
        g_autoptr(GError) error = NULL;
        GSubprocess *child;

        g_shell_parse_argv(line, NULL, &argv, &error);
        g_assert_no_error(error);
        g_subprocess_launcher_setenv(launcher, "DBUS_SYSTEM_BUS_ADDRESS", g_getenv("DBUS_SESSION_BUS_ADDRESS"), TRUE);
        g_subprocess_launcher_setenv(launcher, "LC_ALL", "C.UTF-8", TRUE);
        g_subprocess_launcher_setenv(launcher, "TZ", "UTC", TRUE);
        if (out >= 0)
                g_subprocess_launcher_take_stdout_fd(launcher, out);
        if (err >= 0)
                g_subprocess_launcher_take_stderr_fd(launcher, err);
        child = g_subprocess_launcher_spawnv(launcher, (const char *const *) argv, &error);
        g_assert_no_error(error);
        return child;
}

GSubprocess *ctl_start(const char *command, int err) {
        return start(command, -1, err);
}

/* gt_dbus_queue_try_pop_message() of 0.1.1 never pops, and gt_dbus_queue_pop_message() waits for ever. */
GDBusMethodInvocation *await_call(Fixture *f, const Exchange *x) {
        GDBusMethodInvocation *call = NULL;
        gint64 end = g_get_monotonic_time() + CALL_TIMEOUT_USEC;
        g_autofree char *arguments = NULL;

        while (gt_dbus_queue_get_n_messages(f->queue) == 0) {
                if (g_get_monotonic_time() > end)
                        g_error("%s was not called", x->method);
                g_usleep(500);
        }
        gt_dbus_queue_pop_message(f->queue, &call);

        arguments = g_variant_print(g_dbus_method_invocation_get_parameters(call), TRUE);
        g_assert_cmpstr(g_dbus_method_invocation_get_object_path(call), ==, x->path);
        g_assert_cmpstr(g_dbus_method_invocation_get_interface_name(call), ==, x->interface);
        g_assert_cmpstr(g_dbus_method_invocation_get_method_name(call), ==, x->method);
        g_assert_cmpstr(arguments, ==, x->arguments);
        return call;
}

void answer_call(GDBusMethodInvocation *call, const Exchange *x) {
        g_autoptr(GError) error = NULL;
        GVariant *reply;

        /* These functions take the reference over. */
        if (!x->reply) {
                g_dbus_method_invocation_return_dbus_error(g_object_ref(call), x->error, x->message);
                return;
        }
        reply = g_variant_parse(NULL, x->reply, NULL, NULL, &error);
        g_assert_no_error(error);
        g_dbus_method_invocation_return_value(g_object_ref(call), reply);
        g_variant_unref(reply);
}

void serve_calls(Fixture *f, const Exchange *exchanges, size_t n) {
        for (const Exchange *x = exchanges; x < exchanges + n && x->method; x++) {
                g_autoptr(GDBusMethodInvocation) call = await_call(f, x);

                answer_call(call, x);
        }
}

void check_json(const char *text, const char *expected) {
        g_autoptr(GError) error = NULL;
        g_autofree char *compact = NULL;
        g_autoptr(GSubprocess) python = g_subprocess_new(
                G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, "python3", "-c",
                "import json, sys\n"
                "print(json.dumps(json.load(sys.stdin), sort_keys=True, separators=(',', ':')), end='')",
                NULL);

        g_assert_no_error(error);
        g_subprocess_communicate_utf8(python, text, NULL, &compact, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(g_subprocess_get_exit_status(python), ==, 0);
        g_assert_cmpstr(compact, ==, expected);
}

void write_journal(Fixture *f, const char *records) {
        g_autofree char *file = g_build_filename(f->journal, "system.journal", NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(GSubprocess) remote =
                g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, &error,
                                 "/usr/lib/systemd/systemd-journal-remote", "-o", file, "-", NULL);

        g_assert_no_error(error);
        g_subprocess_communicate_utf8(remote, records, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(g_subprocess_get_exit_status(remote), ==, 0);
}

static void end_case(const Case *c, GSubprocess *child) {
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GError) error = NULL;

        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, &error);
        g_assert_no_error(error);

        g_assert_cmpstr(err, ==, c->err ? c->err : "");
        g_assert_true(g_subprocess_get_if_exited(child));
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, c->code);
        if (c->json)
                check_json(out, c->json);
        else
                g_assert_cmpstr(out, ==, c->out ?: "");
}

void test_case(Fixture *f, gconstpointer data) {
        g_autoptr(GSubprocess) child = NULL;
        const Case *c = data;

        if (c->journal)
                write_journal(f, c->journal);
        child = ctl_start(c->command, -1);
        serve_calls(f, c->exchanges, EXCHANGES_MAX);
        end_case(c, child);
}

/* By default AddressSanitizer keeps memory that was freed, which a measurement would count. */
static GSubprocess *start_measured(const char *command) {
        g_autofree char *before = g_strdup(g_getenv("ASAN_OPTIONS"));
        GSubprocess *child;

        g_setenv("ASAN_OPTIONS", "quarantine_size_mb=1", TRUE);
        child = ctl_start(command, -1);
        if (before)
                g_setenv("ASAN_OPTIONS", before, TRUE);
        else
                g_unsetenv("ASAN_OPTIONS");
        return child;
}

void test_flooded_case(Fixture *f, gconstpointer data) {
        g_autoptr(GDBusConnection) stranger = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
        g_autoptr(GDBusMethodInvocation) call = NULL;
        const Case *c = data;
        g_autoptr(GSubprocess) child = start_measured(c->command);
        size_t n = 0;

        while (n < EXCHANGES_MAX && c->exchanges[n].method)
                n++;
        serve_calls(f, c->exchanges, n - 1);
        call = await_call(f, &c->exchanges[n - 1]);
        bus_flood(stranger, g_dbus_method_invocation_get_sender(call), atoi(g_subprocess_get_identifier(child)));
        answer_call(call, &c->exchanges[n - 1]);
        end_case(c, child);
}

static int terminal_open(Terminal *t, unsigned short columns) {
        const struct winsize size = { .ws_row = 25, .ws_col = columns };
        int slave;

        g_assert_cmpint(openpty(&t->fd, &slave, NULL, NULL, &size), ==, 0);
        g_assert_cmpint(fcntl(t->fd, F_SETFD, FD_CLOEXEC), ==, 0);
        g_assert_cmpint(fcntl(slave, F_SETFD, FD_CLOEXEC), ==, 0);
        t->output = g_string_new(NULL);
        return slave;
}

void terminal_start(Terminal *t, const char *command, unsigned short columns) {
        t->child = start(command, -1, terminal_open(t, columns));
}

void terminal_start_output(Terminal *t, const char *command, unsigned short columns) {
        t->child = start(command, terminal_open(t, columns), -1);
}

gboolean terminal_read(Terminal *t) {
        struct pollfd p = { .fd = t->fd, .events = POLLIN };
        char buffer[4096];
        ssize_t n;

        if (poll(&p, 1, 20) == 0)
                return TRUE;
        n = read(t->fd, buffer, sizeof(buffer)); /* EIO when the other side is closed */
        if (n <= 0)
                return FALSE;
        g_string_append_len(t->output, buffer, n);
        return TRUE;
}

void terminal_await(Terminal *t, const char *text) {
        gint64 end = g_get_monotonic_time() + CALL_TIMEOUT_USEC;

        while (!strstr(t->output->str, text)) {
                if (g_get_monotonic_time() > end)
                        g_error("'%s' did not appear, but '%s'", text, t->output->str);
                g_assert_true(terminal_read(t));
        }
}

char *terminal_finish(Terminal *t) {
        g_autoptr(GError) error = NULL;
        char *out = NULL;

        while (terminal_read(t))
                ;
        g_subprocess_communicate_utf8(t->child, NULL, NULL, &out, NULL, &error);
        g_assert_no_error(error);
        return out;
}

void terminal_done(Terminal *t) {
        g_clear_object(&t->child);
        g_string_free(t->output, TRUE);
        close(t->fd);
}

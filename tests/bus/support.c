/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/close_range.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gio/gunixfdlist.h>
#include <glib/gstdio.h>

#include "queue.h"
#include "support.h"
#include "support/files.h"
#include "support/program.h"
#include "support/service.h"

/* No job may take so long. */
enum { CALL_TIMEOUT_MS = 600000 };

static const char polkit_xml[] =
        "<node><interface name='org.freedesktop.PolicyKit1.Authority'><method name='CheckAuthorization'>"
        "<arg type='(sa{sv})' name='subject' direction='in'/><arg type='s' name='action_id' direction='in'/>"
        "<arg type='a{ss}' name='details' direction='in'/><arg type='u' name='flags' direction='in'/>"
        "<arg type='s' name='cancellation_id' direction='in'/><arg type='(bba{ss})' name='result' direction='out'/>"
        "</method></interface></node>";

/* Returns NAME=VALUE, or the name alone: launch() then removes the variable. */
static char *assign(const char *name, const char *value) {
        return value ? g_strdup_printf("%s=%s", name, value) : g_strdup(name);
}

char *file_path(const Fixture *f, const char *name) {
        return g_build_filename(f->directory, name, NULL);
}

void worker_start(Fixture *f) {
        g_autofree char *program = program_path("tests/bus/fake-worker"),
                        *timeout = assign("SYSTEMD_BUS_TIMEOUT", f->bus_sec);
        /* To search for leaks at the end of each child takes longer than all its work. */
        const Launch how = {
                .environment = (const char *const[]){ "DBUS_SYSTEM_BUS_ADDRESS=", "NOTIFY_SOCKET", timeout,
                                                      "ASAN_OPTIONS=detect_leaks=0", NULL },
        };

        (void) g_unlink(f->worker_socket);
        f->worker = launch(&how, program, f->worker_socket, f->directory, NULL);
        socket_wait(f->worker, &how, f->worker_socket);
}

void worker_stop(Fixture *f) {
        if (f->worker != 0)
                (void) program_end(f->worker, SIGKILL);
        f->worker = 0;
}

void daemon_start(Fixture *f) {
        g_autofree char *state = file_path(f, "state"), *etc = file_path(f, "etc"), *log = file_path(f, "log"),
                        *freeze = file_path(f, "freeze"), *deaf = file_path(f, "freeze-deaf"),
                        *library = program_path("tests/bus/freeze-store.so"),
                        *bus = assign("DBUS_SYSTEM_BUS_ADDRESS", g_getenv("DBUS_SESSION_BUS_ADDRESS")),
                        *notify = assign("NOTIFY_SOCKET", f->notify_socket),
                        *timeout = assign("SYSTEMD_BUS_TIMEOUT", f->bus_sec),
                        *preload = assign("LD_PRELOAD", library), *frozen_by = assign("SELVOL_TEST_FREEZE", freeze),
                        *deaf_by = assign("SELVOL_TEST_DEAF", deaf);
        const Launch how = {
                .environment = (const char *const[]){ bus, notify, timeout, f->freezable ? preload : NULL, frozen_by,
                                                      deaf_by, "ASAN_OPTIONS=verify_asan_link_order=0", NULL },
                .log = f->logged ? log : NULL,
        };
        const Service service = { f->worker_socket, etc, state, f->caller == CALLER_ROOT ? getuid() : 65533,
                                  f->polkit_sec };

        f->daemon = selvold_start(&how, &service, f->client);
}

void daemon_stop(Fixture *f, int signal_number) {
        g_autofree char *log = file_path(f, "log");
        int status;

        if (f->daemon == 0)
                return;
        status = program_end(f->daemon, signal_number);
        f->daemon = 0;
        if (signal_number == SIGTERM && status != 0) {
                print_log(log);
                g_error("selvold has ended with status %i", status);
        }
        /* The bus notices the end some time later. */
        WAIT_FOR(!bus_has_name(f->client, "org.selvol1"));
}

void daemon_limit(Fixture *f, gboolean limited) {
        struct rlimit limit = { .rlim_cur = limited ? 0 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY };

        g_assert_cmpint(f->daemon, !=, 0); /* to prlimit(2) 0 is the caller */
        g_assert_cmpint(prlimit(f->daemon, RLIMIT_FSIZE, &limit, NULL), ==, 0);
}

void store_freeze(Fixture *f, const char *error) {
        g_assert_true(f->freezable);
        write_file(f, "freeze", error);
}

void store_thaw(Fixture *f) {
        g_autofree char *path = file_path(f, "freeze");

        g_assert_cmpint(g_unlink(path), ==, 0);
}

gsize worker_count_children(Fixture *f) {
        return count_children(f->worker, CHILDREN_ALL);
}

void worker_wait_idle(Fixture *f, guint ms) {
        guint idle = 0;

        WAIT_FOR((idle = worker_count_children(f) == 1 ? idle + 2 : 0) > ms);
}

void fixture_start(Fixture *f, Caller caller, gboolean with_polkit) {
        g_autofree char *state = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(GDBusNodeInfo) polkit = g_dbus_node_info_new_for_xml(polkit_xml, &error);

        g_assert_no_error(error);
        /* A bus that inherits GTestDBus' pipe would outlive a failed test, which then would not end. */
        (void) close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
        /* selvold inherits this, so that the limit of daemon_limit() is an error and no signal. */
        (void) signal(SIGXFSZ, SIG_IGN);
        f->queue = gt_dbus_queue_new();
        gt_dbus_queue_connect(f->queue, &error);
        g_assert_no_error(error);
        if (with_polkit) {
                f->polkit_name = gt_dbus_queue_own_name(f->queue, "org.freedesktop.PolicyKit1");
                gt_dbus_queue_export_object(f->queue, "/org/freedesktop/PolicyKit1/Authority", polkit->interfaces[0],
                                            &error);
                g_assert_no_error(error);
        }
        f->client = gt_dbus_queue_get_client_connection(f->queue);

        f->directory = g_dir_make_tmp("selvol-bus-XXXXXX", &error);
        g_assert_no_error(error);
        f->worker_socket = file_path(f, "worker");
        state = file_path(f, "state");
        g_assert_cmpint(g_mkdir(state, 0700), ==, 0);
        write_file(f, "etc/selvol.conf.d/10-tests.conf",
                   "[Service]\nMetricsTextfile=\n[Worker]\nSourceDevices=/dev/vd* /dev/sd*\n");
        worker_start(f);
        f->caller = caller;
        daemon_start(f);
}

void fixture_set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

void fixture_set_up_other(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_OTHER, TRUE);
}

void fixture_stop(Fixture *f) {
        daemon_stop(f, SIGTERM);
        worker_stop(f);
        if (f->polkit_name != 0)
                queue_unown_name(f->queue, f->polkit_name, "org.freedesktop.PolicyKit1",
                                 "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority");
        gt_dbus_queue_disconnect(f->queue, TRUE);
        g_clear_pointer(&f->queue, gt_dbus_queue_free);
        tree_remove(f->directory);
        g_clear_pointer(&f->directory, g_free);
        g_clear_pointer(&f->worker_socket, g_free);
}

void fixture_tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

Fixture other_caller(const Fixture *f) {
        Fixture other = *f;

        other.client = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
        g_assert_nonnull(other.client);
        return other;
}

void close_caller(Fixture *other) {
        g_autoptr(GError) error = NULL;

        g_assert_true(g_dbus_connection_close_sync(other->client, NULL, &error));
        g_assert_no_error(error);
        g_object_unref(other->client);
}

void open_callers(const Fixture *f, Fixture *callers, gsize n) {
        for (gsize i = 0; i < n; i++)
                callers[i] = other_caller(f);
}

void close_callers(Fixture *callers, gsize n) {
        for (gsize i = 0; i < n; i++)
                close_caller(&callers[i]);
}

void leave(Fixture *other, Fixture *f) {
        g_autofree char *name = g_strdup(g_dbus_connection_get_unique_name(other->client)), *metrics = NULL;

        close_caller(other);
        WAIT_FOR(!bus_has_name(f->client, name));
        metrics = get_metrics(f);
}

static void on_done(GObject *source, GAsyncResult *result, gpointer userdata) {
        *(GAsyncResult **) userdata = g_object_ref(result);
}

/* The pointer that a caller gets is not the result, but the place where on_done() puts it. */
GAsyncResult *call_start_at(Fixture *f, const char *path, const char *interface, const char *method,
                            GVariant *arguments) {
        GAsyncResult **slot = g_new0(GAsyncResult *, 1);

        g_dbus_connection_call(f->client, "org.selvol1", path, interface, method, arguments, NULL,
                               G_DBUS_CALL_FLAGS_NONE, CALL_TIMEOUT_MS, NULL, on_done, slot);
        return (GAsyncResult *) slot;
}

GAsyncResult *call_start(Fixture *f, const char *method, GVariant *arguments) {
        return call_start_at(f, "/org/selvol1", "org.selvol1.Manager", method, arguments);
}

GAsyncResult *call_start_with_descriptors(Fixture *f, const char *method, GVariant *arguments, guint n) {
        g_autoptr(GUnixFDList) list = g_unix_fd_list_new();
        GAsyncResult **slot = g_new0(GAsyncResult *, 1);

        for (guint i = 0; i < n; i++)
                g_assert_cmpint(g_unix_fd_list_append(list, STDIN_FILENO, NULL), >=, 0);
        g_dbus_connection_call_with_unix_fd_list(f->client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager",
                                                 method, arguments, NULL, G_DBUS_CALL_FLAGS_NONE, CALL_TIMEOUT_MS,
                                                 list, NULL, on_done, slot);
        return (GAsyncResult *) slot;
}

gboolean call_has_ended(GAsyncResult *result) {
        return *(GAsyncResult **) result != NULL;
}

GVariant *call_end(Fixture *f, GAsyncResult *result, GError **error) {
        GAsyncResult **slot = (GAsyncResult **) result;
        GVariant *reply;

        while (!*slot)
                g_main_context_iteration(NULL, TRUE);
        reply = g_dbus_connection_call_finish(f->client, *slot, error);
        g_object_unref(*slot);
        g_free(slot);
        return reply;
}

GVariant *expect_reply(Fixture *f, GAsyncResult *pending) {
        g_autoptr(GError) error = NULL;
        GVariant *reply = call_end(f, pending, &error);

        g_assert_no_error(error);
        return reply;
}

void expect_error(Fixture *f, GAsyncResult *pending, const char *kind, const char *text) {
        GError *error = NULL;

        g_assert_null(call_end(f, pending, &error));
        assert_error(error, kind, text);
}

guint count_refused(Fixture *f, GAsyncResult *const *calls, gsize n, const char *text, const char *others) {
        guint n_refused = 0;

        for (gsize i = 0; i < n; i++) {
                g_autoptr(GVariant) reply = NULL;
                GError *error = NULL;

                reply = call_end(f, calls[i], &error);
                if (error && strstr(error->message, "LimitReached")) {
                        assert_error(error, "LimitReached", text);
                        n_refused++;
                } else if (others)
                        assert_error(error, others, "");
                else
                        g_assert_no_error(error);
        }
        return n_refused;
}

const char *own_id(const char *name) {
        g_autofree char *id = g_strdup_printf("%u/%s", getuid(), name);

        return g_intern_string(id);
}

static GVariant *options_variant(const char *options) {
        g_autoptr(GError) error = NULL;
        GVariant *v = g_variant_parse(G_VARIANT_TYPE("a{sv}"), options ? options : "{}", NULL, NULL, &error);

        g_assert_no_error(error);
        return v;
}

GVariant *mount_arguments(const char *volume, const char *source, const char *target, const char *options) {
        return g_variant_new("(sss@a{sv})", volume, source, target, options_variant(options));
}

GAsyncResult *start_mount(Fixture *f, const char *volume, const char *source, const char *target,
                          const char *options) {
        return call_start(f, "MountVolume", mount_arguments(volume, source, target, options));
}

GAsyncResult *start_unmount(Fixture *f, const char *volume, const char *target) {
        return call_start(f, "UnmountVolume", g_variant_new("(ss@a{sv})", volume, target, options_variant(NULL)));
}

void send_mount(Fixture *f, const char *volume, const char *source, const char *target, const char *options) {
        g_autoptr(GDBusMessage) m =
                g_dbus_message_new_method_call("org.selvol1", "/org/selvol1", "org.selvol1.Manager", "MountVolume");

        g_dbus_message_set_flags(m, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
        g_dbus_message_set_body(m, mount_arguments(volume, source, target, options));
        g_assert_true(g_dbus_connection_send_message(f->client, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
}

void end_unmount(Fixture *f, GAsyncResult *pending, gboolean expected) {
        g_autoptr(GVariant) reply = expect_reply(f, pending), result = g_variant_get_child_value(reply, 0);
        gboolean unmounted;

        g_assert_true(g_variant_lookup(result, "Unmounted", "b", &unmounted));
        g_assert_cmpint(unmounted, ==, expected);
}

void mount_volume(Fixture *f, const char *volume, const char *source, const char *target, const char *options) {
        g_variant_unref(expect_reply(f, start_mount(f, volume, source, target, options)));
}

void unmount_volume(Fixture *f, const char *volume, const char *target) {
        end_unmount(f, start_unmount(f, volume, target), TRUE);
}

char *start_relabel(Fixture *f, const char *volume, const char *context) {
        g_autoptr(GVariant) reply = expect_reply(
                f, call_start(f, "Relabel", g_variant_new("(ss@a{sv})", volume, context, options_variant(NULL))));
        char *job;

        g_variant_get(reply, "(o)", &job);
        return job;
}

char *error_name(const char *kind) {
        return g_strconcat(strchr(kind, '.') ? "" : "org.selvol1.Error.", kind, NULL);
}

void assert_error(GError *error, const char *kind, const char *text) {
        g_autofree char *name = NULL, *full = error_name(kind);

        g_assert_nonnull(error);
        name = g_dbus_error_get_remote_error(error);
        (void) g_dbus_error_strip_remote_error(error);
        if (g_strcmp0(name, full) != 0 || !strstr(error->message, text))
                g_error("%s with '%s' was expected, but it is %s: %s", full, text, name, error->message);
        g_error_free(error);
}

GDBusMethodInvocation *polkit_pop(Fixture *f) {
        GDBusMethodInvocation *question = NULL;

        /* gt_dbus_queue_try_pop_message() of glib-testing 0.1.1 never pops. */
        WAIT_FOR(gt_dbus_queue_get_n_messages(f->queue) > 0);
        g_assert_true(gt_dbus_queue_pop_message(f->queue, &question));
        g_assert_cmpstr(g_dbus_method_invocation_get_method_name(question), ==, "CheckAuthorization");
        return question;
}

void polkit_answer(GDBusMethodInvocation *question, gboolean authorized, gboolean challenge) {
        g_dbus_method_invocation_return_value(question,
                                              g_variant_new_parsed("((%b, %b, @a{ss} {}),)", authorized, challenge));
}

GVariant *expect_allowed(Fixture *f, GAsyncResult *pending) {
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        return expect_reply(f, pending);
}

char *mount_table(Fixture *f) {
        return read_file(f, "mounts");
}

gsize count_mounts(Fixture *f) {
        g_autofree char *path = file_path(f, "mounts");

        return file_count_lines(path, "?*");
}

gboolean is_mounted(Fixture *f, const char *target) {
        g_autofree char *table = mount_table(f), *needle = g_strdup_printf(" %s ", target);

        return strstr(table, needle) != NULL;
}

void write_file(Fixture *f, const char *name, const char *text) {
        g_autofree char *path = file_path(f, name);

        file_write(path, text);
}

char *read_file(Fixture *f, const char *name) {
        g_autofree char *path = file_path(f, name);

        return file_read(path);
}

char *get_metrics(Fixture *f) {
        g_autoptr(GVariant) reply = expect_reply(f, call_start(f, "GetMetrics", NULL));
        char *text;

        g_variant_get(reply, "(s)", &text);
        g_assert_null(strstr(text, "=\"other\""));
        return text;
}

void assert_metric(Fixture *f, const char *line) {
        g_autofree char *text = get_metrics(f), *whole = g_strconcat("\n", line, NULL);

        if (!strstr(text, whole))
                g_test_message("%s", text);
        g_assert_nonnull(strstr(text, whole));
}

double read_metric(Fixture *f, const char *series) {
        g_autofree char *text = get_metrics(f), *line = g_strdup_printf("\n%s ", series);
        const char *found = strstr(text, line);

        g_assert_nonnull(found);
        return g_ascii_strtod(found + strlen(line), NULL);
}

void assert_metrics_zero(Fixture *f, const char *prefix) {
        g_autofree char *text = get_metrics(f);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        gsize n = 0;

        for (char **line = lines; *line; line++) {
                if (!g_str_has_prefix(*line, prefix))
                        continue;
                n++;
                if (!g_str_has_suffix(*line, " 0"))
                        g_test_message("%s", *line);
                g_assert_true(g_str_has_suffix(*line, " 0"));
        }
        g_assert_cmpuint(n, >, 0);
}

static GVariant *find_property(Fixture *f, const char *path, const char *interface, const char *property) {
        g_autoptr(GVariant) reply = NULL, boxed = NULL;

        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", path, "org.freedesktop.DBus.Properties", "Get",
                                            g_variant_new("(ss)", interface, property), G_VARIANT_TYPE("(v)"),
                                            G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        if (!reply)
                return NULL;
        boxed = g_variant_get_child_value(reply, 0);
        return g_variant_get_variant(boxed);
}

char *to_text(GVariant *value) {
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING) ||
            g_variant_is_of_type(value, G_VARIANT_TYPE_OBJECT_PATH))
                return g_variant_dup_string(value, NULL);
        return g_variant_print(value, FALSE);
}

char *get_text(Fixture *f, const char *path, const char *interface, const char *property) {
        g_autoptr(GVariant) value = find_property(f, path, interface, property);

        return value ? to_text(value) : NULL;
}

char *get_volume_text(Fixture *f, const char *element, const char *property) {
        g_autofree char *path = g_strdup_printf("/org/selvol1/volume/%s", element);

        return get_text(f, path, "org.selvol1.Volume", property);
}

GVariant *get_holders(Fixture *f, const char *element) {
        g_autofree char *path = g_strdup_printf("/org/selvol1/volume/%s", element);
        GVariant *holders = find_property(f, path, "org.selvol1.Volume", "Holders");

        g_assert_nonnull(holders);
        return holders;
}

gsize count_holders(Fixture *f, const char *element) {
        g_autoptr(GVariant) holders = get_holders(f, element);

        return g_variant_n_children(holders);
}

static gboolean job_has_state(Fixture *f, const char *job, const char *state) {
        g_autofree char *actual = get_text(f, job, "org.selvol1.Job", "State");

        return g_strcmp0(actual, state) == 0;
}

void wait_for_job(Fixture *f, guint n, const char *state) {
        g_autofree char *job = g_strdup_printf("/org/selvol1/job/%u", n);

        WAIT_FOR(job_has_state(f, job, state));
}

GVariant *job_wait(Fixture *f, const char *job, const char *result) {
        g_autoptr(GVariant) reply = expect_reply(f, call_start_at(f, job, "org.selvol1.Job", "Wait", NULL));
        const char *actual;
        GVariant *details;

        g_variant_get(reply, "(&s@a{sv})", &actual, &details);
        g_assert_cmpstr(actual, ==, result);
        return details;
}

const char *get_string(GVariant *dictionary, const char *key) {
        const char *s = NULL;

        g_assert_true(g_variant_lookup(dictionary, key, "&s", &s));
        return s;
}

guint64 get_number(GVariant *dictionary, const char *key) {
        guint64 n = 0;
        guint32 u;

        if (g_variant_lookup(dictionary, key, "u", &u))
                return u;
        g_assert_true(g_variant_lookup(dictionary, key, "t", &n));
        return n;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* selvold on a private bus, in front of a fake worker: signals, limits, introspection, the log and metrics as a file; what methods answer is
 * in calls/daemon. */

#include <signal.h>

#include <glib/gstdio.h>

#include "model/failure.h"
#include "support.h"

#define T1            "/var/lib/kubelet/pods/a/volumes/v"
#define T2            "/var/lib/kubelet/pods/b/volumes/v"
#define OVM           "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"
#define POD_A         "{'SELinuxLevel': <'s0:c10,c0'>, 'Holder': <'pod-a'>, " OVM "}"
#define POD_B         "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, " OVM "}"
#define CONTEXT_A     "system_u:object_r:container_file_t:s0:c0,c10"
#define LOG_CONTROL   "/org/freedesktop/LogControl1"
#define LOG_INTERFACE "org.freedesktop.LogControl1"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

/* A holder is one since it was mounted. */
static void test_since(Fixture *f, gconstpointer data) {
        guint64 before = (guint64) g_get_real_time();
        g_autoptr(GVariant) mounted = NULL, holders = NULL, holder = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        holders = get_holders(f, "v");
        holder = g_variant_get_child_value(holders, 0);
        g_assert_cmpuint(get_number(holder, "SinceUSec"), >=, before);
        g_assert_cmpuint(get_number(holder, "SinceUSec"), <=, (guint64) g_get_real_time());
}

/* What was unmounted a moment ago by others, and not heard of, is in nobody's way. */
static void test_unmounted_just_now(Fixture *f, gconstpointer data) {
        static const struct {
                const char *volume, *source, *options;
        } calls[] = {
                { "pvc-1", "/dev/vdb", POD_A },
                { "pvc-1", "/dev/vdb", POD_B }, /* with other options */
                { "pvc-2", "/dev/vdc", POD_A }, /* another volume */
        };

        for (size_t i = 0; i < 10 * G_N_ELEMENTS(calls); i++) {
                size_t k = i % G_N_ELEMENTS(calls);
                g_autoptr(GVariant) planned = NULL, mounted = NULL;
                GError *error = NULL;

                planned = call(f, "PlanVolume",
                               mount_arguments(calls[k].volume, calls[k].source, T1, calls[k].options), &error);
                g_assert_no_error(error);
                mounted = call_mount(f, calls[k].volume, calls[k].source, T1, calls[k].options, &error);
                g_assert_no_error(error);
                assert_metric(f, "selvol_holders 1\n");
                write_file(f, "mounts", "");
        }
}

static void test_long_strings(Fixture *f, gconstpointer data) {
        g_autofree char *filler = g_strnfill(4096, 'a'), *target = g_strdup_printf("/var/lib/kubelet/%s", filler),
                        *level = g_strdup_printf("{'SELinuxLevel': <'s0:%s'>}", filler),
                        *holder = g_strdup_printf("{'Holder': <'%s'>}", filler),
                        *option = g_strdup_printf("{'MountOptions': <['%s']>}", filler);
        GError *error = NULL;

        g_assert_null(call_mount(f, filler, "/dev/vdb", T1, "{}", &error));
        assert_error(g_steal_pointer(&error), "InvalidVolume", "longer than 256");
        g_assert_null(call_mount(f, "v", "/dev/vdb", target, "{}", &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, level, &error));
        assert_error(g_steal_pointer(&error), "InvalidContext", "");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, holder, &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "Holder");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, option, &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "longer");
}

/* Whoever is in the way has one form, in plans and signals. */
static void assert_conflict(GVariant *conflict, const char *volume, const char *holder, const char *target) {
        g_assert_cmpstr(get_string(conflict, "Volume"), ==, volume);
        g_assert_cmpstr(get_string(conflict, "Holder"), ==, holder);
        g_assert_cmpstr(get_string(conflict, "Target"), ==, target);
        g_assert_cmpstr(get_string(conflict, "Context"), ==, CONTEXT_A);
        g_assert_cmpuint(get_number(conflict, "SinceUSec"), <=, (guint64) g_get_real_time());
}

/* More callers than selvold remembers the uid of, each of which it asks the bus for. */
static void test_many_callers(Fixture *f, gconstpointer data) {
        enum { MANY = 100 };
        GDBusConnection *callers[MANY];

        for (size_t i = 0; i < MANY; i++) {
                callers[i] = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
                g_assert_nonnull(callers[i]);
        }
        for (size_t i = 0; i < 2 * MANY; i++) {
                g_autoptr(GVariant) metrics = NULL;
                GError *error = NULL;

                metrics = g_dbus_connection_call_sync(callers[i % MANY], "org.selvol1", "/org/selvol1",
                                                      "org.selvol1.Manager", "GetMetrics", NULL, NULL,
                                                      G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
                g_assert_no_error(error);
        }
        for (size_t i = 0; i < MANY; i++)
                g_object_unref(callers[i]);
}

typedef struct Seen {
        GPtrArray *names;
        GVariant *conflict;
} Seen;

static void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                      const char *name, GVariant *parameters, gpointer userdata) {
        Seen *seen = userdata;

        if (g_str_has_prefix(name, "Context"))
                g_ptr_array_add(seen->names, g_strdup(name));
        if (g_str_equal(name, "ContextConflict") && !seen->conflict)
                seen->conflict = g_variant_ref(parameters);
}

/* An unmount behind our back releases the holder and tells those who wait. */
static void test_released_behind_our_back(Fixture *f, gconstpointer data) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GVariant) mounted = NULL, other = NULL, conflicts = NULL, conflict = NULL;
        const char *volume, *wanted, *held;
        Seen seen = { .names = names };
        GError *error = NULL;
        guint subscription;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager", NULL, NULL,
                                                          NULL, G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "v", "/dev/vdb", T2, POD_B, &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", T1);
        WAIT_FOR(names->len == 1);
        g_assert_cmpstr(names->pdata[0], ==, "ContextConflict");
        g_variant_get(seen.conflict, "(&s&s&s@aa{sv})", &volume, &wanted, &held, &conflicts);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpstr(wanted, ==, "system_u:object_r:container_file_t:s0:c20,c30");
        g_assert_cmpstr(held, ==, CONTEXT_A);
        conflict = g_variant_get_child_value(conflicts, 0);
        assert_conflict(conflict, "v", "pod-a", T1);
        write_file(f, "mounts", "");
        WAIT_FOR(names->len == 2);
        g_assert_cmpstr(names->pdata[1], ==, "ContextReleased");
        other = call_mount(f, "v", "/dev/vdb", T2, POD_B, &error);
        g_assert_no_error(error);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_variant_unref(seen.conflict);
}

static void on_mount_changed(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                             const char *name, GVariant *parameters, gpointer userdata) {
        const char *volume, *target, *text;

        g_variant_get(parameters, "(&s&s&s)", &volume, &target, &text);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpstr(target, ==, T1);
        g_ptr_array_add(userdata, g_strdup(text));
}

/* What strangers do to the mount of a holder: the words of the signal, and what the record says of it then. */
static void test_mount_changed(Fixture *f, gconstpointer data) {
        const struct {
                const char *table, *text;
                gboolean read_only, covered;
                const char *also_at;
        } rows[] = {
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n7 " T1 " on-top tmpfs - 0\n",
                  "hidden by another one: on-top", FALSE, TRUE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "not hidden any more", FALSE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 1\n", "read-only", TRUE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "writable", FALSE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n7 /mnt/v /dev/vdb ext4 " CONTEXT_A " 0\n",
                  "mounted files of the volume at /mnt/v", FALSE, FALSE, "/mnt/v" },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "any more", FALSE, FALSE },
        };
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;
        guint subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager",
                                                                "MountChanged", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                                                on_mount_changed, texts, NULL);

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GVariant) holders = NULL, holder = NULL;
                const char *also_at = NULL;
                gboolean read_only;

                write_file(f, "mounts", rows[i].table);
                WAIT_FOR(texts->len == i + 1);
                g_assert_nonnull(strstr(texts->pdata[i], rows[i].text));
                holders = get_holders(f, "v");
                holder = g_variant_get_child_value(holders, 0);
                g_assert_true(g_variant_lookup(holder, "ReadOnly", "b", &read_only));
                g_assert_cmpint(read_only, ==, rows[i].read_only);
                g_assert_cmpint(g_variant_lookup(holder, "CoveredBy", "&s", NULL), ==, rows[i].covered);
                (void) g_variant_lookup(holder, "AlsoAt", "&s", &also_at);
                g_assert_cmpstr(also_at, ==, rows[i].also_at);
        }
        /* Moved, it is not the holder's any more. */
        write_file(f, "mounts", "1000 " T2 " /dev/vdb ext4 " CONTEXT_A " 0\n");
        WAIT_FOR(count_holders(f, "v") == 0);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

static void lose_state(Fixture *f) {
        daemon_stop(f, SIGTERM);
        write_file(f, "state/state.db",
                   "This is no database, but it is long enough to be looked at as one. Or is it not? ");
        daemon_start(f, CALLER_ROOT);
}

static void test_damaged_state(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        g_autofree char *state = file_path(f, "state");
        g_autoptr(GDir) d = NULL;
        gboolean aside = FALSE;
        GError *error = NULL;
        const char *name;

        lose_state(f);
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        d = g_dir_open(state, 0, NULL);
        while ((name = g_dir_read_name(d)))
                aside = aside || g_str_has_prefix(name, "state.db.damaged-");
        g_assert_true(aside);
}

/* Prometheus' own tool has nothing to say against the text. */
static void test_promtool(Fixture *f, gconstpointer data) {
        g_autofree char *promtool = g_find_program_in_path("promtool");
        g_autoptr(GVariant) mounted = NULL, metrics = NULL;
        g_autoptr(GSubprocess) check = NULL;
        g_autofree char *said = NULL;
        GError *error = NULL;
        const char *text;

        if (!promtool) {
                g_test_skip("promtool is not installed (Debian: prometheus)");
                return;
        }
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        metrics = call(f, "GetMetrics", NULL, &error);
        g_assert_no_error(error);
        g_variant_get(metrics, "(&s)", &text);
        check = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                         G_SUBPROCESS_FLAGS_STDERR_MERGE,
                                 &error, promtool, "check", "metrics", NULL);
        g_assert_no_error(error);
        g_subprocess_communicate_utf8(check, text, NULL, &said, NULL, &error);
        g_assert_no_error(error);
        if (!g_subprocess_get_successful(check))
                g_test_message("%s", said);
        g_assert_true(g_subprocess_get_successful(check));
}

/* What the service answers to Introspect is what the installed XML says. */
static void test_introspection(Fixture *f, gconstpointer data) {
        const char *interface = data;
        g_autofree char *file = g_strdup_printf("%s/dbus/%s.xml", g_getenv("G_TEST_SRCDIR"), interface), *xml = NULL,
                        *object = NULL;
        g_autoptr(GVariant) mounted = NULL, reply = NULL;
        g_autoptr(GDBusNodeInfo) written = NULL, answered = NULL;
        g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
        GDBusInterfaceInfo *info;
        GError *error = NULL;
        const char *text;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        object = g_strdup(g_str_has_suffix(interface, "Volume") ? "/org/selvol1/volume/v" : "/org/selvol1");
        g_file_get_contents(file, &xml, NULL, &error);
        g_assert_no_error(error);
        written = g_dbus_node_info_new_for_xml(xml, &error);
        g_assert_no_error(error);
        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", object, "org.freedesktop.DBus.Introspectable",
                                            "Introspect", NULL, G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, -1,
                                            NULL, &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(&s)", &text);
        answered = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        info = g_dbus_node_info_lookup_interface(answered, interface);
        g_assert_nonnull(info);
        g_dbus_interface_info_generate_xml(g_dbus_node_info_lookup_interface(written, interface), 0, a);
        g_dbus_interface_info_generate_xml(info, 0, b);
        g_assert_cmpstr(a->str, ==, b->str);
}

static void test_objects(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) one = NULL, two = NULL, reply = NULL, objects = NULL;
        GError *error = NULL;

        one = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        two = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", "/org/selvol1",
                                            "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL, NULL,
                                            G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
        g_assert_no_error(error);
        objects = g_variant_get_child_value(reply, 0);
        g_assert_cmpuint(g_variant_n_children(objects), ==, 2);
}

/* Those who wait for one job are limited too. */
static void test_join_limit(Fixture *f, gconstpointer data) {
        GAsyncResult *calls[WAITERS_MAX + WAITERS_RESERVED + 16];
        size_t n_refused = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = call_start(f, "MountVolume",
                                      mount_arguments("v", "/dev/hang-observe", T1, "{'TimeoutUSec': <@t 1000000>}"));
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                GError *error = NULL;

                g_assert_null(call_end(f, calls[i], &error));
                if (strstr(error->message, "LimitReached"))
                        n_refused++;
                g_error_free(error);
        }
        g_assert_cmpuint(n_refused, ==, 16);
}

/* As many holders as there can be. */
static void test_holders_limit(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                g_autofree char *target = g_strdup_printf("/var/lib/kubelet/pods/%zu/volumes/v", i);
                g_autoptr(GVariant) reply = call_mount(f, "v", "/dev/vdb", target, POD_A, &error);

                g_assert_no_error(error);
                g_assert_nonnull(reply);
        }
        g_assert_null(call_mount(f, "v", "/dev/vdb", "/var/lib/kubelet/pods/more/volumes/v", POD_A, &error));
        assert_error(g_steal_pointer(&error), "LimitReached", "can't have more: unmount one");
}

/* The kernel gives an id anew as soon as it is free: the news that a mount went is not about the next one. */
static void test_mount_id_again(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        for (size_t i = 0; i < 10; i++) {
                g_autoptr(GVariant) first = NULL, second = NULL;

                first = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
                g_assert_no_error(error);
                pause_usec(120000);
                g_assert_true(call_unmount(f, "v", T1, &error));
                second = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
                g_assert_no_error(error);
                pause_usec(150000);
                g_assert_cmpuint(count_holders(f, "w"), ==, 1);
                g_assert_true(call_unmount(f, "w", T2, &error));
        }
        assert_metric(f, "selvol_holders_lost_total 0\n");
}

/* A worker that listens but does not answer delays the start of selvold, for ten seconds, but does not prevent it. */
static void test_worker_hangs(Fixture *f, gconstpointer data) {
        daemon_stop(f, SIGTERM);
        g_assert_cmpint(kill(f->worker, SIGSTOP), ==, 0);
        daemon_start(f, CALLER_ROOT);
        assert_metric(f, "selvol_holders 0\n");
        g_assert_cmpint(kill(f->worker, SIGCONT), ==, 0);
}

static gboolean file_has(Fixture *f, const char *name, const char *text) {
        g_autofree char *all = read_file(f, name);

        return strstr(all, text) != NULL;
}

/* Counters that move without any volume changing get into the file too. */
static void test_textfile(Fixture *f, gconstpointer data) {
        g_autofree char *config = g_strdup_printf("[Service]\nMetricsTextfile=%s/selvol.prom\n", f->directory);
        GError *error = NULL;

        daemon_stop(f, SIGTERM);
        write_file(f, "etc/selvol.conf.d/textfile.conf", config);
        daemon_start(f, CALLER_ROOT);
        g_assert_null(call_mount(f, "v", "/dev/drop-context", T1, POD_A, &error));
        assert_error(g_steal_pointer(&error), "ContextDropped", "");
        WAIT_FOR(file_has(f, "selvol.prom", "selvol_refusals_total{error=\"ContextDropped\"} 1\n"));
}

static void assert_log_level(Fixture *f, const char *level) {
        g_autofree char *text = get_text(f, LOG_CONTROL, LOG_INTERFACE, "LogLevel");

        g_assert_cmpstr(text, ==, level);
}

static void set_log_property(Fixture *f, const char *property, const char *value, GError **error) {
        g_autoptr(GVariant) reply = NULL;

        reply = call_end(f,
                         call_start_at(f, LOG_CONTROL, "org.freedesktop.DBus.Properties", "Set",
                                       g_variant_new("(ssv)", LOG_INTERFACE, property, g_variant_new_string(value))),
                         error);
}

static void test_log_control(Fixture *f, gconstpointer data) {
        g_autofree char *target = NULL, *identifier = NULL;
        GError *error = NULL;

        assert_log_level(f, "info");
        set_log_property(f, "LogLevel", "debug", &error);
        g_assert_no_error(error);
        assert_log_level(f, "debug");
        set_log_property(f, "LogLevel", "4", &error);
        g_assert_no_error(error);
        assert_log_level(f, "warning");
        set_log_property(f, "LogLevel", "loud", &error);
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.InvalidArgs", "debug");
        assert_log_level(f, "warning");

        target = get_text(f, LOG_CONTROL, LOG_INTERFACE, "LogTarget");
        g_assert_cmpstr(target, ==, "console");
        set_log_property(f, "LogTarget", "journal", &error);
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.PropertyReadOnly", "LogTarget");
        identifier = get_text(f, LOG_CONTROL, LOG_INTERFACE, "SyslogIdentifier");
        g_assert_cmpstr(identifier, ==, "selvold");
}

static void test_log_level_environment(Fixture *f, gconstpointer data) {
        static const struct {
                const char *value, *level;
        } rows[] = { { "err", "err" }, { "7", "debug" }, { "loud", "info" }, { "", "info" } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                daemon_stop(f, SIGTERM);
                g_setenv("SELVOL_LOG_LEVEL", rows[i].value, TRUE);
                daemon_start(f, CALLER_ROOT);
                g_unsetenv("SELVOL_LOG_LEVEL");
                assert_log_level(f, rows[i].level);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/daemon/" name, Fixture, data, set_up, function, tear_down)
        ADD("since", NULL, test_since);
        ADD("unmounted-just-now", NULL, test_unmounted_just_now);
        ADD("long-strings", NULL, test_long_strings);
        ADD("join/limit", NULL, test_join_limit);
        ADD("holders/limit", NULL, test_holders_limit);
        ADD("many-callers", NULL, test_many_callers);
        ADD("mount-changed", NULL, test_mount_changed);
        ADD("released-behind-our-back", NULL, test_released_behind_our_back);
        ADD("mount-id-again", NULL, test_mount_id_again);
        ADD("damaged-state", NULL, test_damaged_state);
        ADD("promtool", NULL, test_promtool);
        ADD("worker-hangs", NULL, test_worker_hangs);
        ADD("textfile", NULL, test_textfile);
        ADD("introspection/manager", "org.selvol1.Manager", test_introspection);
        ADD("introspection/volume", "org.selvol1.Volume", test_introspection);
        ADD("objects", NULL, test_objects);
        ADD("log/control", NULL, test_log_control);
        ADD("log/environment", NULL, test_log_level_environment);
        return g_test_run();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* fsGroup: progress and signals; the rest is in calls/ownership. */

#include "support.h"

#define T1          "/var/lib/kubelet/pods/a/volumes/v"
#define T2          "/var/lib/kubelet/pods/b/volumes/v"
#define POD_1000    "{'FSGroup': <@u 1000>, 'Holder': <'pod-1000'>}"
#define ALWAYS_2000 "{'FSGroup': <@u 2000>, 'FSGroupChangePolicy': <'Always'>}"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

static void mount(Fixture *f, const char *target) {
        GError *error = NULL;

        g_variant_unref(call_mount(f, "v", "/dev/vdb", target, POD_1000, &error));
        g_assert_no_error(error);
}

static void unmount(Fixture *f, const char *target) {
        GError *error = NULL;

        g_assert_true(call_unmount(f, "v", target, &error));
        g_assert_no_error(error);
}

/* K4: kubelet writes an event when it takes long; here there is a job, which tells how far it is, and of how much. */
static void test_progress(Fixture *f, gconstpointer data) {
        GAsyncResult *pending =
                call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-slow", T1, "{'FSGroup': <@u 1000>}"));
        g_autofree char *path = NULL, *operation = NULL;
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;
        guint64 before = 0;

        wait_for_job(f, 1, "running");
        path = get_volume_text(f, "v", "Job");
        operation = get_text(f, path, "org.selvol1.Job", "Operation");
        g_assert_cmpstr(operation, ==, "mount");
        for (int i = 0; i < 3;) {
                g_autofree char *done = get_text(f, path, "org.selvol1.Job", "EntriesDone"),
                                *total = get_text(f, path, "org.selvol1.Job", "EntriesTotal");
                guint64 n = g_ascii_strtoull(done, NULL, 10);

                g_assert_cmpstr(total, ==, "300");
                i += n > before;
                before = n;
                pause_usec(20000);
        }
        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
}

static void on_first_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                            const char *name, GVariant *parameters, gpointer userdata) {
        GVariant **seen = userdata;

        if (!*seen)
                *seen = g_variant_ref(parameters);
}

/* The first one that was told of. */
static void assert_conflict_signal(GVariant *signal) {
        g_autoptr(GVariant) conflicts = NULL, conflict = NULL;
        const char *volume;
        guint32 wanted;

        g_variant_get(signal, "(&su@aa{sv})", &volume, &wanted, &conflicts);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpuint(wanted, ==, 2000);
        g_assert_cmpuint(g_variant_n_children(conflicts), ==, 1);
        conflict = g_variant_get_child_value(conflicts, 0);
        g_assert_cmpstr(get_string(conflict, "Volume"), ==, "v");
        g_assert_cmpstr(get_string(conflict, "Holder"), ==, "pod-1000");
        g_assert_cmpstr(get_string(conflict, "Target"), ==, T1);
}

static void test_conflict(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) signal = NULL;
        GError *error = NULL;
        guint subscription;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager",
                                                          "GroupConflict", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                                          on_first_signal, &signal, NULL);
        mount(f, T1);
        g_assert_null(call_mount(f, "v", "/dev/vdb", T2, ALWAYS_2000, &error));
        assert_error(error, "GroupConflict", "pod-1000");
        WAIT_FOR(signal != NULL);
        assert_conflict_signal(signal);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

/* Whoever waits for another group is told that the last holder has gone. */
static void test_released(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) signal = NULL;
        const char *volume;
        guint subscription;
        guint32 gid;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager",
                                                          "GroupReleased", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                                          on_first_signal, &signal, NULL);
        mount(f, T1);
        mount(f, T2);
        unmount(f, T1);
        pause_usec(100000);
        g_assert_null(signal);
        unmount(f, T2);
        WAIT_FOR(signal != NULL);
        g_variant_get(signal, "(&su)", &volume, &gid);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpuint(gid, ==, 1000);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/ownership/progress", Fixture, NULL, set_up, test_progress, tear_down);
        g_test_add("/ownership/conflict-signal", Fixture, NULL, set_up, test_conflict, tear_down);
        g_test_add("/ownership/released", Fixture, NULL, set_up, test_released, tear_down);
        return g_test_run();
}

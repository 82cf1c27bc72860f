/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* fsGroup: when files are walked over, when another group is shown in the place of theirs, and when neither; who is
 * in the way; what is recorded; ApplyOwnership and VerifyLabel. */

#include <signal.h>

#include "support.h"

#define T1        "/var/lib/kubelet/pods/a/volumes/v"
#define T2        "/var/lib/kubelet/pods/b/volumes/v"
#define T3        "/var/lib/kubelet/pods/c/volumes/v"
#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c10"
#define GROUP(g)  "'FSGroup': <@u " #g ">, 'Holder': <'pod-" #g "'>"
#define ALWAYS    ", 'FSGroupChangePolicy': <'Always'>"
#define NONE      G_MAXUINT32

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

static GVariant *mount(Fixture *f, const char *source, const char *target, const char *options) {
        g_autofree char *all = g_strdup_printf("{%s}", options);
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call_mount(f, "v", source, target, all, &error);
        g_assert_no_error(error);
        return g_variant_get_child_value(reply, 2);
}

static void assert_refused(Fixture *f, const char *source, const char *target, const char *options, const char *kind,
                           const char *text) {
        g_autofree char *all = g_strdup_printf("{%s}", options);
        GError *error = NULL;

        g_assert_null(call_mount(f, "v", source, target, all, &error));
        assert_error(error, kind, text);
}

static void assert_text(GVariant *dictionary, const char *key, const char *text) {
        if (text)
                g_assert_cmpstr(get_string(dictionary, key), ==, text);
        else
                assert_absent(dictionary, key);
}

static void assert_group(GVariant *dictionary, const char *key, guint32 gid) {
        if (gid != NONE)
                g_assert_cmpuint(get_number(dictionary, key), ==, gid);
        else
                assert_absent(dictionary, key);
}

/* ownership and reason NULL, groups NONE: the keys are not there. */
static void assert_result(GVariant *result, const char *ownership, const char *reason, guint32 shown,
                          guint32 on_disk) {
        assert_text(result, "Ownership", ownership);
        assert_text(result, "OwnershipReason", reason);
        assert_group(result, "FSGroup", shown);
        assert_group(result, "DiskGroup", on_disk);
        if (g_strcmp0(ownership, "walked") == 0)
                g_assert_cmpuint(get_number(result, "EntriesDone"), ==, 300);
        else
                assert_absent(result, "EntriesDone");
}

static void assert_mounted(Fixture *f, const char *source, const char *target, const char *options,
                           const char *ownership, const char *reason, guint32 shown, guint32 on_disk) {
        g_autoptr(GVariant) result = mount(f, source, target, options);

        assert_result(result, ownership, reason, shown, on_disk);
}

static void unmount(Fixture *f, const char *target) {
        GError *error = NULL;

        g_assert_true(call_unmount(f, "v", target, &error));
        g_assert_no_error(error);
}

static void assert_state(Fixture *f, const char *state, const char *gid) {
        g_autofree char *actual_state = get_volume_text(f, "v", "OwnershipState"),
                        *actual_gid = get_volume_text(f, "v", "DiskGroup");

        g_assert_cmpstr(actual_state, ==, state);
        g_assert_cmpstr(actual_gid, ==, gid);
}

/* The holder at a target has these groups. */
static void assert_holder(Fixture *f, const char *target, guint32 shown, guint32 on_disk) {
        g_autoptr(GVariant) holders = get_holders(f, "v");

        for (gsize i = 0; i < g_variant_n_children(holders); i++) {
                g_autoptr(GVariant) holder = g_variant_get_child_value(holders, i);

                if (!g_str_equal(get_string(holder, "Target"), target))
                        continue;
                assert_group(holder, "FSGroup", shown);
                assert_group(holder, "DiskGroup", on_disk);
                return;
        }
        g_assert_not_reached();
}

/* A disk is mounted once more for a group that can't share the mount, but its file system keeps the options that it has. */
static void test_mount_options(Fixture *f, gconstpointer data) {
#define OPTIONS(option) ", 'MountOptions': <['" option "']>"
        g_autofree char *options = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) OPTIONS("commit=5"), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) OPTIONS("commit=5"), "mapped", "other-group", 2000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(3000), "mapped", "other-group", 3000, 1000);
        options = get_volume_text(f, "v", "MountOptions");
        g_assert_cmpstr(options, ==, "['commit=5']");
        assert_refused(f, "/dev/vdb", T3, GROUP(4000) OPTIONS("commit=6"), "Incompatible", "mounted with commit=5");
        assert_mounted(f, "/dev/vdb", T3, GROUP(4000) OPTIONS("commit=5"), "mapped", "other-group", 4000, 1000);
#undef OPTIONS
}

/* Walked once; then it is known; another group is shown in its place, whoever else has the volume; and all of it
 * outlives the service. */
static void test_story(Fixture *f, gconstpointer data) {
        g_autofree char *said = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_state(f, "complete", "1000");
        assert_holder(f, T1, 1000, 1000);
        /* The same call again is only confirmed. */
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), NULL, NULL, 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "skipped", "complete", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000), "mapped", "other-group", 2000, 1000);
        assert_holder(f, T2, 2000, 1000);
        unmount(f, T1);
        unmount(f, T2);
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        assert_mounted(f, "/dev/vdb", T1, GROUP(3000), "mapped", "other-group", 3000, 1000);
        daemon_stop(f, SIGKILL);
        daemon_start(f, CALLER_ROOT);
        assert_holder(f, T1, 3000, 1000);
        assert_state(f, "complete", "1000");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==,
                        "target= context= group=1000 disk=1000 readers=0 blind=0 rate=0 change=reset-labels\n");
        assert_metrics_zero(f, "selvol_storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi\","
                               "operation_name=\"volume_apply_access_control\"");
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
                run_for(20);
        }
        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
}

static void test_metrics(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000), "mapped", "other-group", 2000, 1000);
        assert_mounted(f, "/dev/vdb", T3, GROUP(1000), "skipped", "complete", 1000, 1000);
        assert_metric(f, "selvol_storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi\","
                         "operation_name=\"volume_apply_access_control\",status=\"success\"} 1\n");
        assert_metric(f, "selvol_ownership_total{outcome=\"walked\",reason=\"unknown\"} 1\n");
        assert_metric(f, "selvol_ownership_total{outcome=\"mapped\",reason=\"other-group\"} 1\n");
        assert_metric(f, "selvol_ownership_total{outcome=\"skipped\",reason=\"complete\"} 1\n");
        assert_metric(f, "selvol_ownership_entries_total{result=\"changed\"} 250\n");
        assert_metric(f, "selvol_ownership_duration_seconds_count 1\n");
        assert_metrics_zero(f, "selvol_relabels_total");
}

/* K1, K9: Always walks whatever is known, and a change by another way than a swap lands on disk. */
static void test_always(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ALWAYS, "walked", "policy-always", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ALWAYS, "walked", "policy-always", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ALWAYS, "walked", "policy-always", 2000, 2000);
        assert_state(f, "complete", "2000");
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ", 'Force': <true>", "walked", "forced", 2000, 2000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ", 'FSGroupChangePolicy': <'OnRootMismatch'>", "skipped",
                       "complete", 2000, 2000);
}

static void test_gate(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        write_file(f, "etc/selvol.conf.d/gate.conf", "[Service]\nSkipFSGroupChange=no\n");
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "gate-disabled", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000), "walked", "gate-disabled", 2000, 2000);
        unmount(f, T1);
        /* What the mark says since is believed when it is on again. */
        write_file(f, "etc/selvol.conf.d/gate.conf", "[Service]\nSkipFSGroupChange=yes\n");
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000), "skipped", "complete", 2000, 2000);
}

static void test_default_policy(Fixture *f, gconstpointer data) {
        write_file(f, "etc/selvol.conf.d/policy.conf", "[Service]\nDefaultFSGroupChangePolicy=Always\n");
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        for (int i = 0; i < 2; i++) {
                assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "policy-always", 1000, 1000);
                unmount(f, T1);
        }
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ", 'FSGroupChangePolicy': <'OnRootMismatch'>", "skipped",
                       "complete", 1000, 1000);
}

/* The root says otherwise than the mark. */
static void test_root_differs(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        write_file(f, "group-vdb", "1000 40755");
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "root-differs", 1000, 1000);
        unmount(f, T1);
        write_file(f, "group-vdb", "5 42775");
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000), "walked", "root-differs", 2000, 2000);
}

/* A swap that can't be made, or that would leave files behind, is a walk that says why. */
static void test_instead_of_map(Fixture *f, gconstpointer data) {
        static const struct {
                const char *source, *options, *reason, *detail;
        } rows[] = {
                { "/dev/noidmap", GROUP(2000), "no-idmap", "EPERM" },
                { "/dev/misowned", GROUP(2000), "files-differ", "dir/a has group 5" },
                { "/dev/vdb", GROUP(2000) ", 'UserNamespace': <true>", "user-namespace", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GVariant) result = NULL;
                GError *error = NULL;

                assert_mounted(f, rows[i].source, T1, GROUP(1000), "walked", "unknown", 1000, 1000);
                unmount(f, T1);
                result = mount(f, rows[i].source, T1, rows[i].options);
                assert_result(result, "walked", rows[i].reason, 2000, 2000);
                if (rows[i].detail)
                        g_assert_nonnull(strstr(get_string(result, "OwnershipDetail"), rows[i].detail));
                assert_state(f, "complete", "2000");
                unmount(f, T1);
                g_assert_nonnull(call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error));
                g_assert_no_error(error);
        }
}

/* A volume that readers mount is not changed, but they see the group that writers got by a swap. */
static void test_readers(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ", 'ReadOnly': <true>", "none", "read-only", NONE, NONE);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(1000) ", 'ReadOnly': <true>", "skipped", "complete", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T3, GROUP(2000) ", 'ReadOnly': <true>", "mapped", "other-group", 2000, 1000);
        unmount(f, T1);
        unmount(f, T2);
        /* The clone of what swaps just these groups. */
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000) ", 'ReadOnly': <true>", "mapped", "other-group", 2000, 1000);
        unmount(f, T2);
        unmount(f, T3);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ", 'ReadOnly': <true>" ALWAYS, "none", "read-only", NONE, NONE);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ", 'ReadOnly': <true>, 'UserNamespace': <true>", "none",
                       "read-only", NONE, NONE);
}

/* What kubelet writes itself is given to the pod for reading. */
static void test_secret(Fixture *f, gconstpointer data) {
        g_autofree char *said = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ", 'VolumeType': <'secret'>", "walked", "unknown", 1000, 1000);
        said = read_file(f, "walks");
        g_assert_nonnull(strstr(said, "readers=1"));
        assert_state(f, "partial", "1000");
}

/* Directories of one file system are each a volume's own. */
static void test_parts(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        assert_mounted(f, "/dev/part", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        reply = call_mount(f, "w", "/dev/part", T2, "{" GROUP(2000) ALWAYS "}", &error);
        g_assert_no_error(error);
}

/* An adopted mount does to labels what it does, whatever becomes of the group. */
static void test_adopt_fails(Fixture *f, gconstpointer data) {
        static const char context_mount[] = "7 " T1 " /dev/walk-fails ext4 " CONTEXT_A " 0\n";
        g_autofree char *mark = NULL, *tainted = NULL;
        GError *error = NULL;

        write_file(
                f, "mark-walk-fails",
                "version=2 inode=0 fingerprint= label=complete tainted=no ownership=unknown gid=0 context=" CONTEXT_A);
        write_file(f, "mounts", context_mount);
        g_assert_null(
                call(f, "AdoptVolume", g_variant_new_parsed("('v', '" T1 "', {'FSGroup': <@u 1000>})"), &error));
        assert_error(error, "EntriesFailed", "dir/file-0");
        tainted = get_volume_text(f, "v", "Tainted");
        g_assert_cmpstr(tainted, ==, "true");
        mark = read_file(f, "mark-walk-fails");
        g_assert_nonnull(strstr(mark, "label=complete tainted=yes ownership=partial"));
}

/* What has been seen to be wrong is not believed, also if nothing came of it. */
static void test_differs_in_vain(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/misowned", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_refused(f, "/dev/misowned", T2, GROUP(2000), "GroupConflict", "pod-1000");
        assert_state(f, "unknown", "4294967295");
        unmount(f, T1);
        assert_mounted(f, "/dev/misowned", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/misowned", T1, GROUP(2000) ", 'ReadOnly': <true>", "none", "read-only", NONE, NONE);
        assert_state(f, "unknown", "4294967295");
}

/* A file system that keeps no mark is known by its root at most, and only to those who ask for that in words. */
static void test_no_mark(Fixture *f, gconstpointer data) {
        static const struct {
                const char *source, *options;
        } rows[] = {
                { "server:/nomark", ", 'FSType': <'nfs'>, 'FSGroupPolicy': <'File'>" },
                { "/dev/nomark", "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *options = g_strconcat(GROUP(1000), rows[i].options, NULL),
                                *on_root = g_strconcat(options, ", 'FSGroupChangePolicy': <'OnRootMismatch'>", NULL);
                GError *error = NULL;

                for (int k = 0; k < 2; k++) {
                        assert_mounted(f, rows[i].source, T1, options, "walked", "unknown", 1000, 1000);
                        assert_state(f, "unknown", "4294967295");
                        unmount(f, T1);
                }
                assert_mounted(f, rows[i].source, T1, on_root, "skipped", "root-only", 1000, 1000);
                unmount(f, T1);
                g_assert_nonnull(call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error));
                g_assert_no_error(error);
        }
}

/* The worker goes away while groups are to be swapped: nothing is mounted, nothing forgotten. */
static void test_map_fails(Fixture *f, gconstpointer data) {
        g_autofree char *mounts = NULL;

        assert_mounted(f, "/dev/die-map", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        assert_refused(f, "/dev/die-map", T1, GROUP(2000), "WorkerFailed", "journalctl");
        mounts = mount_table(f);
        g_assert_cmpstr(mounts, ==, "");
        assert_state(f, "complete", "1000");
        assert_mounted(f, "/dev/die-map", T1, GROUP(1000), "skipped", "complete", 1000, 1000);
}

/* The groups that a mount swaps are recorded before it is seen: killed right after that, selvold knows them. */
static void test_map_killed(Fixture *f, gconstpointer data) {
        static const char mark[] =
                "version=2 inode=0 fingerprint= label=unknown tainted=no ownership=complete gid=1000 context=";
        GAsyncResult *pending;
        GError *error = NULL;

        write_file(f, "mark-hang-published", mark);
        write_file(f, "group-hang-published", "1000 42770");
        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/hang-published", T1, "{" GROUP(2000) "}"));
        run_for(500);
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, pending, &error));
        g_clear_error(&error);
        daemon_start(f, CALLER_ROOT);
        assert_holder(f, T1, 2000, 1000);
        /* Who wants another group on disk is in the way of that. */
        assert_refused(f, "/dev/hang-published", T2, GROUP(2000) ALWAYS ", 'UserNamespace': <true>", "GroupConflict",
                       "pod-2000");
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

/* Files are not taken from a holder, be it of this volume or of another one on the same disk. */
static void test_conflict(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) signal = NULL;
        GError *error = NULL;
        guint subscription;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager",
                                                          "GroupConflict", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                                          on_first_signal, &signal, NULL);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_refused(f, "/dev/vdb", T2, GROUP(2000) ALWAYS, "GroupConflict", "pod-1000");
        WAIT_FOR(f, signal != NULL);
        assert_conflict_signal(signal);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        assert_refused(f, "/dev/vdb", T2, GROUP(2000) ", 'UserNamespace': <true>", "GroupConflict", "pod-1000");
        g_assert_null(call_mount(f, "w", "/dev/vdb", T2, "{" GROUP(2000) ALWAYS "}", &error));
        assert_error(g_steal_pointer(&error), "GroupConflict", "pod-1000");
        assert_state(f, "complete", "1000");
        /* The holder of a swap relies on what is on disk, too. */
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000), "mapped", "other-group", 2000, 1000);
        unmount(f, T1);
        assert_refused(f, "/dev/vdb", T1, GROUP(3000) ALWAYS, "GroupConflict", "pod-2000");
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000) ALWAYS, "walked", "policy-always", 1000, 1000);
        assert_metric(f, "selvol_refusals_total{error=\"GroupConflict\"} 4\n");
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
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(1000), "skipped", "complete", 1000, 1000);
        unmount(f, T1);
        run_for(100);
        g_assert_null(signal);
        unmount(f, T2);
        WAIT_FOR(f, signal != NULL);
        g_variant_get(signal, "(&su)", &volume, &gid);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpuint(gid, ==, 1000);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

static GVariant *plan(Fixture *f, const char *target, const char *options) {
        g_autofree char *all = g_strdup_printf("{%s}", options);
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", target, all), &error);
        g_assert_no_error(error);
        return g_variant_get_child_value(reply, 0);
}

static void assert_planned(Fixture *f, const char *target, const char *options, const char *ownership,
                           const char *reason, guint64 entries) {
        g_autoptr(GVariant) result = plan(f, target, options);

        assert_absent(result, "ErrorName");
        g_assert_cmpstr(get_string(result, "Ownership"), ==, ownership);
        g_assert_cmpstr(get_string(result, "OwnershipReason"), ==, reason);
        /* The runtime is asked to relabel in any case here. */
        if (entries > 0)
                g_assert_cmpuint(get_number(result, "EstimatedEntries"), ==, entries);
        else
                assert_absent(result, "EstimatedEntries");
}

static void test_plan(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) refused = NULL;

        assert_planned(f, T1, GROUP(1000), "walk", "unknown", 0);
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_planned(f, T2, GROUP(1000), "skip", "complete", 300);
        assert_planned(f, T2, GROUP(2000), "map", "other-group", 300);
        assert_planned(f, T2, GROUP(1000) ALWAYS, "walk", "policy-always", 300);
        assert_planned(f, T2, GROUP(2000) ", 'FSGroupPolicy': <'None'>", "none", "policy-none", 300);
        refused = plan(f, T2, GROUP(2000) ALWAYS);
        g_assert_cmpstr(get_string(refused, "ErrorName"), ==, "GroupConflict");
        g_assert_nonnull(strstr(get_string(refused, "ErrorMessage"), "pod-1000"));

        /* The clone of a mount that swaps groups takes nothing away from the original. */
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000), "mapped", "other-group", 2000, 1000);
        unmount(f, T1);
        assert_planned(f, T3, GROUP(2000) ALWAYS, "walk", "policy-always", 300);
        assert_mounted(f, "/dev/vdb", T3, GROUP(2000) ALWAYS, "walked", "policy-always", 2000, 1000);
}

/* By the file system's own option, as kubelet leaves it to a driver: nothing is walked. */
static void test_option(Fixture *f, gconstpointer data) {
        g_autofree char *staged = NULL, *said = NULL;

        assert_mounted(f, "/dev/vfat", T1, GROUP(1000) ", 'FSGroupPolicy': <'Mount'>", "option", "policy-mount", 1000,
                       1000);
        staged = read_file(f, "staged");
        g_assert_nonnull(strstr(staged, "gid=1000"));
        /* The superblock has one group. */
        assert_refused(f, "/dev/vfat", T2, GROUP(2000) ", 'FSGroupPolicy': <'Mount'>", "GroupConflict", "pod-1000");
        assert_refused(f, "/dev/vdb", T3, GROUP(1000) ", 'FSGroupPolicy': <'Mount'>", "Incompatible", "");
        unmount(f, T1);
        assert_refused(f, "/dev/vdb", T3, GROUP(1000) ", 'FSGroupPolicy': <'Mount'>", "InvalidOption", "ext4");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==, "");
}

/* K6, and what is asked of other volumes. */
static void test_not_given(Fixture *f, gconstpointer data) {
        static const struct {
                const char *options, *reason;
        } rows[] = {
                { GROUP(1000) ", 'FSGroupPolicy': <'None'>", "policy-none" },
                { GROUP(1000) ", 'ReadOnly': <true>", "read-only" },
                { GROUP(1000) ", 'AccessMode': <'ReadWriteMany'>", "access-mode" },
                { GROUP(1000) ", 'VolumeType': <'hostPath'>, 'FSGroupPolicy': <'File'>", "type-not-managed" },
                { GROUP(1000) ", 'VolumeType': <'image'>", "policy-none" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                assert_mounted(f, "/dev/vdb", T1, rows[i].options, "none", rows[i].reason, NONE, NONE);
                assert_state(f, "unknown", "4294967295");
                unmount(f, T1);
        }
        assert_mounted(f, "/dev/vdb", T1, "'Holder': <'pod'>", NULL, NULL, NONE, NONE);
}

/* Labels and group in one walk. */
static void test_both(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) result = NULL;
        g_autofree char *said = NULL;

        result = mount(f, "/dev/vdb", T1, GROUP(1000) ", 'SELinuxLevel': <'s0:c0,c10'>, 'RelabelBy': <'service'>");
        assert_result(result, "walked", "unknown", 1000, 1000);
        g_assert_cmpstr(get_string(result, "Relabel"), ==, "walked");
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000) ", 'SELinuxLevel': <'s0:c0,c10'>, 'RelabelBy': <'service'>",
                       "mapped", "other-group", 2000, 1000);
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==,
                        "target= context=" CONTEXT_A " group=1000 disk=1000 readers=0 blind=0 rate=0 change=keep\n");
}

/* A context mount is tainted as without a group, and the group is known nevertheless. */
static void test_context_mount(Fixture *f, gconstpointer data) {
        static const char options[] = GROUP(1000) ", 'SELinuxLevel': <'s0:c0,c10'>, 'SELinuxRelabelPolicy': "
                                                  "<'OnVolumeMount'>, 'SELinuxMountSupported': <true>";
        g_autofree char *tainted = NULL, *mark = NULL;

        assert_mounted(f, "/dev/vdb", T1, options, "walked", "unknown", 1000, 1000);
        tainted = get_volume_text(f, "v", "Tainted");
        g_assert_cmpstr(tainted, ==, "true");
        mark = read_file(f, "mark-vdb");
        g_assert_nonnull(strstr(mark, "tainted=yes ownership=complete gid=1000"));
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, options, "skipped", "complete", 1000, 1000);
}

/* Nothing is seen before it is right; what failed stays partial, and the next mount goes on. */
static void test_fails(Fixture *f, gconstpointer data) {
        g_autofree char *mounts = NULL, *mark = NULL;

        assert_refused(f, "/dev/walk-fails", T1, GROUP(1000), "EntriesFailed", "dir/file-0");
        mounts = mount_table(f);
        g_assert_cmpstr(mounts, ==, "");
        assert_state(f, "partial", "1000");
        mark = read_file(f, "mark-walk-fails");
        g_assert_nonnull(strstr(mark, "ownership=partial gid=1000"));
        assert_metric(f, "selvol_ownership_total{outcome=\"failed\",reason=\"unknown\"} 1\n");
        assert_metric(f, "selvol_ownership_entries_total{result=\"failed\"} 20\n");
        assert_refused(f, "/dev/walk-fails", T1, GROUP(1000), "EntriesFailed", "");
        assert_metric(f, "selvol_ownership_total{outcome=\"failed\",reason=\"partial\"} 1\n");
}

/* What was left alone is not known to be right. */
static void test_left_alone(Fixture *f, gconstpointer data) {
        static const struct {
                const char *source, *state, *gid;
        } rows[] = {
                { "/dev/links", "partial", "1000" },
                { "/dev/links-nomark", "unknown", "4294967295" },
                { "/dev/restless", "partial", "1000" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                GError *error = NULL;

                assert_mounted(f, rows[i].source, T1, GROUP(1000), "walked", "unknown", 1000, 1000);
                assert_state(f, rows[i].state, rows[i].gid);
                unmount(f, T1);
                assert_mounted(f, rows[i].source, T1, GROUP(1000), "walked", rows[i].state, 1000, 1000);
                unmount(f, T1);
                g_assert_nonnull(call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error));
                g_assert_no_error(error);
        }
}

/* The volume comes from another node, with its own truth; and one that is another disk brings none. */
static void test_moved(Fixture *f, gconstpointer data) {
        write_file(f, "mark-vdb",
                   "version=2 inode=0 fingerprint= label=unknown tainted=no ownership=complete gid=1000 context=");
        write_file(f, "group-vdb", "1000 42770");
        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "skipped", "complete", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdc", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
}

/* The mount is there: it can't be idmapped any more, and files are changed where they are. */
static void test_adopt(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL, result = NULL, again = NULL, other = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 - 0\n");
        reply = call(f, "AdoptVolume", g_variant_new_parsed("('v', '" T1 "', {'FSGroup': <@u 1000>})"), &error);
        g_assert_no_error(error);
        result = g_variant_get_child_value(reply, 2);
        assert_result(result, "walked", "unknown", 1000, 1000);
        assert_state(f, "complete", "1000");
        again = call(f, "AdoptVolume", g_variant_new_parsed("('v', '" T1 "', {'FSGroup': <@u 2000>})"), &error);
        g_assert_no_error(error);
        other = g_variant_get_child_value(again, 2);
        assert_result(other, "walked", "mounted", 2000, 2000);
        assert_holder(f, T1, 2000, 2000);
}

/* What somebody else has mounted swaps nothing, whatever the mounts of the volume do that are there besides. */
static void test_adopt_beside_mapped(Fixture *f, gconstpointer data) {
        g_autofree char *table = NULL, *all = NULL;
        GError *error = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        assert_mounted(f, "/dev/vdb", T2, GROUP(2000), "mapped", "other-group", 2000, 1000);
        unmount(f, T1);
        table = mount_table(f);
        all = g_strconcat(table, "7 " T3 " /dev/vdb ext4 - 0\n", NULL);
        write_file(f, "mounts", all);
        g_assert_null(
                call(f, "AdoptVolume", g_variant_new_parsed("('v', '" T3 "', {'FSGroup': <@u 2000>})"), &error));
        assert_error(g_steal_pointer(&error), "GroupConflict", "pod-2000");
        assert_state(f, "complete", "1000");
}

/* What selvol has mounted itself swaps groups, whatever somebody else asks for. */
static void test_adopt_mapped(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        unmount(f, T1);
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000), "mapped", "other-group", 2000, 1000);
        g_assert_null(call(f, "AdoptVolume", g_variant_new_parsed("('v', '" T1 "', @a{sv} {})"), &error));
        assert_error(error, "Incompatible", "nothing to adopt");
        assert_holder(f, T1, 2000, 1000);
}

static char *apply(Fixture *f, const char *gid, const char *options, GError **error) {
        g_autofree char *text = g_strdup_printf("('v', uint32 %s, @a{sv} %s)", gid, options ? options : "{}");
        g_autoptr(GVariant) reply = call(f, "ApplyOwnership", g_variant_new_parsed(text), error);
        const char *path;

        if (!reply)
                return NULL;
        g_variant_get(reply, "(&o)", &path);
        return g_strdup(path);
}

static void assert_applied(Fixture *f, const char *gid, const char *options, const char *ownership,
                           const char *reason) {
        GError *error = NULL;
        g_autofree char *job = apply(f, gid, options, &error);
        g_autoptr(GVariant) result = NULL;

        g_assert_no_error(error);
        result = job_wait(f, job, "done");
        g_assert_cmpstr(get_string(result, "Ownership"), ==, ownership);
        g_assert_cmpstr(get_string(result, "OwnershipReason"), ==, reason);
        if (g_str_equal(ownership, "walked"))
                g_assert_cmpuint(get_number(result, "EntriesDone"), ==, 300);
        else
                assert_absent(result, "EntriesDone");
}

static void test_apply(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        g_assert_null(apply(f, "1000", NULL, &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", "v");
        g_assert_null(apply(f, "4294967295", NULL, &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "4294967295");

        /* Over a holder's mount. */
        assert_mounted(f, "/dev/vdb", T1, "'Holder': <'pod'>", NULL, NULL, NONE, NONE);
        assert_applied(f, "1000", NULL, "walked", "unknown");
        assert_state(f, "complete", "1000");
        assert_applied(f, "1000", NULL, "skipped", "complete");
        assert_applied(f, "1000", "{'Force': <true>}", "walked", "forced");
        unmount(f, T1);
        /* Of nobody's: mounted where nobody sees it. */
        assert_applied(f, "2000", NULL, "walked", "requested");
        assert_state(f, "complete", "2000");
        /* For readers is less than for writers, and says so. */
        assert_applied(f, "3000", "{'ReadOnly': <true>}", "walked", "requested");
        assert_state(f, "partial", "3000");
        assert_applied(f, "3000", "{'ReadOnly': <true>}", "walked", "partial");
        assert_state(f, "partial", "3000");
        assert_metric(f, "selvol_storage_operation_duration_seconds_count{volume_plugin=\"kubernetes.io/csi\","
                         "operation_name=\"volume_apply_access_control\",status=\"success\"} 5\n");
}

/* A copy of the mark that was loaded does not say that the file system keeps none. */
static void test_plan_after_restart(Fixture *f, gconstpointer data) {
        assert_mounted(f, "/dev/vdb", T1, "'Holder': <'pod'>", NULL, NULL, NONE, NONE);
        assert_applied(f, "3000", "{'ReadOnly': <true>}", "walked", "unknown");
        assert_state(f, "partial", "3000");
        for (int i = 0; i < 2; i++) {
                assert_planned(f, T2, GROUP(3000) ", 'FSGroupChangePolicy': <'OnRootMismatch'>", "walk", "partial",
                               300);
                daemon_stop(f, SIGTERM);
                daemon_start(f, CALLER_ROOT);
        }
}

static void test_apply_conflict(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        assert_mounted(f, "/dev/vdb", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        g_assert_null(apply(f, "2000", NULL, &error));
        assert_error(g_steal_pointer(&error), "GroupConflict", "pod-1000");
        unmount(f, T1);
        /* To its holder they have that group already, and on disk another one. */
        assert_mounted(f, "/dev/vdb", T1, GROUP(2000), "mapped", "other-group", 2000, 1000);
        g_assert_null(apply(f, "3000", NULL, &error));
        assert_error(g_steal_pointer(&error), "GroupConflict", "pod-2000");
        assert_applied(f, "2000", "{'Force': <true>}", "walked", "forced");
        assert_state(f, "complete", "1000");
}

static GVariant *verify(Fixture *f, const char *options) {
        g_autofree char *text = g_strdup_printf("('v', '" CONTEXT_A "', @a{sv} {%s})", options);
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call(f, "VerifyLabel", g_variant_new_parsed(text), &error);
        g_assert_no_error(error);
        return g_variant_get_child_value(reply, 2);
}

/* What is seen to be wrong is no longer believed, here and by the volume itself. */
static void test_verify(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) root = NULL, other = NULL, full = NULL;
        g_autofree char *mark = NULL;

        assert_mounted(f, "/dev/misowned", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
        root = verify(f, "'Depth': <'root'>");
        assert_absent(root, "EntriesMisowned");
        assert_absent(root, "FSGroup");
        /* That they are not a third one's promises nothing. */
        other = verify(f, "'Depth': <'full'>, 'FSGroup': <@u 7>");
        g_assert_cmpuint(get_number(other, "EntriesMisowned"), ==, 3);
        assert_state(f, "complete", "1000");
        full = verify(f, "'Depth': <'full'>");
        g_assert_cmpuint(get_number(full, "EntriesMisowned"), ==, 3);
        g_assert_cmpuint(get_number(full, "FSGroup"), ==, 1000);
        g_assert_nonnull(strstr(get_string(full, "Text"), "another group"));
        assert_state(f, "unknown", "4294967295");
        mark = read_file(f, "mark-misowned");
        g_assert_nonnull(strstr(mark, "ownership=unknown gid=0"));
        unmount(f, T1);
        assert_mounted(f, "/dev/misowned", T1, GROUP(1000), "walked", "unknown", 1000, 1000);
}

static void test_options(Fixture *f, gconstpointer data) {
        static const struct {
                const char *options, *text;
        } rows[] = {
                { "'FSGroup': <@u 4294967295>", "FSGroup" },
                { "'FSGroup': <1000>", "FSGroup" },
                { "'FSGroup': <@u 1>, 'FSGroup': <@u 1>", "twice" },
                { "'FSGroup': <@u 1>, 'FSGroupPolicy': <'Files'>", "FSGroupPolicy" },
                { "'FSGroup': <@u 1>, 'FSGroupChangePolicy': <'Never'>", "FSGroupChangePolicy" },
                { "'UserNamespace': <'yes'>", "UserNamespace" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                assert_refused(f, "/dev/vdb", T1, rows[i].options, "InvalidOption", rows[i].text);
        /* Another group is another request. */
        assert_mounted(f, "/dev/vdb", T1, GROUP(0), "walked", "unknown", 0, 0);
        assert_refused(f, "/dev/vdb", T1, "'FSGroup': <@u 1>, 'Holder': <'pod-0'>", "Incompatible", "");
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = {
                { "story", test_story },
                { "mount-options", test_mount_options },
                { "progress", test_progress },
                { "metrics", test_metrics },
                { "always", test_always },
                { "gate", test_gate },
                { "default-policy", test_default_policy },
                { "root-differs", test_root_differs },
                { "instead-of-map", test_instead_of_map },
                { "readers", test_readers },
                { "secret", test_secret },
                { "parts", test_parts },
                { "adopt-fails", test_adopt_fails },
                { "differs-in-vain", test_differs_in_vain },
                { "no-mark", test_no_mark },
                { "map-fails", test_map_fails },
                { "map-killed", test_map_killed },
                { "conflict", test_conflict },
                { "released", test_released },
                { "plan", test_plan },
                { "plan-after-restart", test_plan_after_restart },
                { "option", test_option },
                { "not-given", test_not_given },
                { "both", test_both },
                { "context-mount", test_context_mount },
                { "fails", test_fails },
                { "left-alone", test_left_alone },
                { "moved", test_moved },
                { "adopt", test_adopt },
                { "adopt-beside-mapped", test_adopt_beside_mapped },
                { "adopt-mapped", test_adopt_mapped },
                { "apply", test_apply },
                { "apply-conflict", test_apply_conflict },
                { "verify", test_verify },
                { "options", test_options },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
                g_autofree char *path = g_strconcat("/ownership/", tests[i].name, NULL);

                g_test_add(path, Fixture, NULL, set_up, tests[i].test, tear_down);
        }
        return g_test_run();
}

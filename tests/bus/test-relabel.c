/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service relabels what it mounts or adopts: when it walks and when not, that nobody sees a volume before it is
 * right, what is recorded when something goes wrong; and VerifyLabel over many files. */

#include <signal.h>
#include <stdio.h>

#include <glib/gstdio.h>

#include "store/store.h"
#include "support.h"

#define T1        "/var/lib/kubelet/pods/a/volumes/v"
#define T2        "/var/lib/kubelet/pods/b/volumes/v"
#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c10"
#define CONTEXT_B "system_u:object_r:container_file_t:s0:c20,c30"
#define SERVICE_A "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'RelabelBy': <'service'>}"
#define SERVICE_B "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, 'RelabelBy': <'service'>}"
#define RUNTIME_A "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>}"
#define ON_MOUNT_A                                                                                         \
        "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>, " \
        "'SELinuxMountSupported': <true>}"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

/* Mounts or adopts, and returns the result. */
static GVariant *end_mount(Fixture *f, GAsyncResult *pending, const char *context, const char *flag) {
        g_autoptr(GVariant) reply = NULL;
        const char *actual_context, *actual_flag;
        GVariant *result;
        GError *error = NULL;

        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(&s&s@a{sv})", &actual_context, &actual_flag, &result);
        g_assert_cmpstr(actual_context, ==, context);
        g_assert_cmpstr(actual_flag, ==, flag);
        return result;
}

static GVariant *mount(Fixture *f, const char *source, const char *target, const char *options, const char *context,
                       const char *flag) {
        return end_mount(f, call_start(f, "MountVolume", mount_arguments("v", source, target, options)), context,
                         flag);
}

/* NULL: there is no such key. */
static void assert_text(GVariant *dictionary, const char *key, const char *text) {
        if (text)
                g_assert_cmpstr(get_string(dictionary, key), ==, text);
        else
                assert_absent(dictionary, key);
}

static void assert_relabel(Fixture *f, const char *source, const char *target, const char *options,
                           const char *context, const char *relabel, const char *reason) {
        g_autoptr(GVariant) result = mount(f, source, target, options, context, "");

        assert_text(result, "Relabel", relabel);
        assert_text(result, "RelabelReason", reason);
        if (g_strcmp0(relabel, "walked") == 0)
                g_assert_cmpuint(get_number(result, "EntriesDone"), ==, 300);
        else
                assert_absent(result, "EntriesDone");
}

static void unmount(Fixture *f, const char *target) {
        GError *error = NULL;

        g_assert_true(call_unmount(f, "v", target, &error));
        g_assert_no_error(error);
}

static void assert_label(Fixture *f, const char *state, const char *context, const char *tainted) {
        g_autofree char *actual_state = get_volume_text(f, "v", "LabelState"),
                        *actual_context = get_volume_text(f, "v", "LabelContext"),
                        *actual_tainted = get_volume_text(f, "v", "Tainted");

        g_assert_cmpstr(actual_state, ==, state);
        g_assert_cmpstr(actual_context, ==, context);
        g_assert_cmpstr(actual_tainted, ==, tainted);
}

static void assert_mark(Fixture *f, const char *name, const char *text) {
        g_autofree char *mark = read_file(f, name);

        if (!strstr(mark, text))
                g_test_message("%s: %s", name, mark);
        g_assert_nonnull(strstr(mark, text));
}

static gsize count_walks(Fixture *f) {
        g_autofree char *said = read_file(f, "walks");
        gsize n = 0;

        for (const char *p = said; (p = strchr(p, '\n')); p++)
                n++;
        return n;
}

/* A mount of the same disk under another name is on its way, and would be seen by others. */
static void test_alias_on_its_way(Fixture *f, gconstpointer data) {
        static const char soon[] =
                "{'SELinuxLevel': <'s0:c0,c10'>, 'RelabelBy': <'service'>, 'TimeoutUSec': <@t 200000>}";
        GAsyncResult *other = call_start(f, "MountVolume", mount_arguments("w", "/dev/slow-mount", T2, "{}"));
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        /* The intent is recorded. */
        WAIT_FOR(f, is_recorded(f, "w"));
        g_assert_null(call_mount(f, "v", "/dev/slow-mount", T1, soon, &error));
        assert_error(g_steal_pointer(&error), "Busy", "volume w");
        reply = call_end(f, other, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count_walks(f), ==, 0);
}

/* Walked once, then it is known; the decision is the mark's, and each skip and walk says why. */
static void test_story(Fixture *f, gconstpointer data) {
        g_autofree char *said = NULL;

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        assert_label(f, "complete", CONTEXT_A, "false");
        /* The same call again is only confirmed. */
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, NULL, NULL);
        /* A second holder gets a clone of what is right. */
        assert_relabel(f, "/dev/vdb", T2, SERVICE_A, CONTEXT_A, "skipped", "complete");
        g_assert_cmpuint(count_holders(f, "v"), ==, 2);
        unmount(f, T1);
        unmount(f, T2);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_B, CONTEXT_B, "walked", "other-context");
        unmount(f, T1);
        g_autoptr(GVariant) forced =
                mount(f, "/dev/vdb", T1,
                      "{'SELinuxLevel': <'s0:c20,c30'>, 'RelabelBy': <'service'>, 'Force': <true>, "
                      "'MaxEntriesPerSecond': <@t 500>}",
                      CONTEXT_B, "");
        g_assert_cmpstr(get_string(forced, "RelabelReason"), ==, "forced");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==,
                        "target= context=" CONTEXT_A " blind=0 rate=0 change=keep\n"
                        "target= context=" CONTEXT_B " blind=1 rate=0 change=keep\n"
                        "target= context=" CONTEXT_B " blind=0 rate=500 change=keep\n");
}

/* Files that were made under a context mount have no label on disk: never skipped. */
static void test_tainted(Fixture *f, gconstpointer data) {
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, ON_MOUNT_A, CONTEXT_A, NULL, NULL);
        assert_label(f, "complete", CONTEXT_A, "true");
        assert_mark(f, "mark-vdb", "label=complete tainted=yes");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "tainted");
        assert_label(f, "complete", CONTEXT_A, "false");
        assert_metric(f, "selvol_tainted_volumes 0\n");
}

/* A runtime may do anything to labels: what was known is not known any more, here and on the volume. */
static void test_runtime(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) runtime = NULL, levelless = NULL;

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        runtime = mount(f, "/dev/vdb", T1, RUNTIME_A, CONTEXT_A, "Z");
        assert_label(f, "unknown", "", "false");
        assert_mark(f, "mark-vdb", "label=unknown");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        /* Which context is not known here. */
        levelless = mount(f, "/dev/vdb", T1, "{'RelabelBy': <'service'>}", "", "Z");
        assert_absent(levelless, "Relabel");
        assert_label(f, "unknown", "", "false");
}

/* Nobody sees it before it is right, and everybody sees how far it is. */
static void test_hidden(Fixture *f, gconstpointer data) {
        g_autofree char *during = NULL, *job = NULL, *after = NULL, *operation = NULL;
        g_autoptr(GVariant) joined = NULL, result = NULL;
        GAsyncResult *pending, *second;
        GError *error = NULL;

        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-slow", T1, SERVICE_A));
        wait_for_job(f, 1, "running");
        second = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-slow", T1, SERVICE_A));
        during = mount_table(f);
        g_assert_cmpstr(during, ==, "");
        assert_label(f, "partial", CONTEXT_A, "false");
        job = get_volume_text(f, "v", "Job");
        operation = get_text(f, job, "org.selvol1.Job", "Operation");
        g_assert_cmpstr(operation, ==, "mount");
        g_assert_null(call_relabel(f, "v", CONTEXT_A, "{'TimeoutUSec': <@t 100000>}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "mount");
        result = end_mount(f, pending, CONTEXT_A, "");
        joined = end_mount(f, second, CONTEXT_A, "");
        g_assert_cmpstr(get_string(result, "Relabel"), ==, "walked");
        g_autoptr(GVariant) path = g_variant_lookup_value(result, "Job", G_VARIANT_TYPE_OBJECT_PATH);
        g_assert_cmpstr(g_variant_get_string(path, NULL), ==, job);
        g_assert_cmpuint(count_walks(f), ==, 1);
        after = mount_table(f);
        g_assert_nonnull(strstr(after, T1));
        g_autoptr(GVariant) details = job_wait(f, job, "done");
        g_assert_cmpuint(get_number(details, "EntriesChanged"), ==, 250);
}

static void test_canceled(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *table = NULL;
        g_autoptr(GVariant) canceled = NULL;
        GAsyncResult *pending;
        GError *error = NULL;

        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-crawl", T1, SERVICE_A));
        wait_for_job(f, 1, "running");
        job = get_volume_text(f, "v", "Job");
        canceled = call_end(f, call_start_at(f, job, "org.selvol1.Job", "Cancel", NULL), &error);
        g_assert_no_error(error);
        g_assert_null(call_end(f, pending, &error));
        assert_error(g_steal_pointer(&error), "Canceled", "canceled");
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_label(f, "partial", CONTEXT_A, "false");
}

static void test_fails(Fixture *f, gconstpointer data) {
        const char *source = data;
        gboolean dies = g_str_has_suffix(source, "die");
        g_autofree char *table = NULL;
        GError *error = NULL;

        for (size_t i = 0; i < 2; i++) {
                g_assert_null(call_mount(f, "v", source, T1, SERVICE_A, &error));
                assert_error(g_steal_pointer(&error), dies ? "WorkerFailed" : "EntriesFailed",
                             dies ? "journalctl" : "dir/file-0\\x0a, dir/file-1");
                assert_label(f, "partial", CONTEXT_A, "false");
                g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        }
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
        assert_metric(f, "selvol_relabels_total{outcome=\"failed\",reason=\"unknown\"} 1\n");
        assert_metric(f, "selvol_relabels_total{outcome=\"failed\",reason=\"partial\"} 1\n");
        assert_metric(f, "selvol_volumes_label_state{state=\"partial\"} 1\n");
        assert_metric(f, "selvol_volumes_left_partial 1\n");
        assert_metric(f, dies ? "selvol_worker_failures_total{connection=\"job\"} 2\n"
                              : "selvol_worker_failures_total{connection=\"job\"} 0\n");
}

/* All files are right, and then it can't be published: the work is not lost. */
static void test_publish_fails(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        for (size_t i = 0; i < 2; i++) {
                g_assert_null(call_mount(f, "v", "/dev/publish-fails", T1, SERVICE_A, &error));
                assert_error(g_steal_pointer(&error), "MountFailed", "attached");
                assert_label(f, "complete", CONTEXT_A, "false");
                g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        }
        g_assert_cmpuint(count_walks(f), ==, 1);
}

static void on_skipped(void *userdata, const char *volume, const char *target) {
        g_assert_not_reached();
}

/* That a walk has begun is on disk before anything is done; a holder only when it is known which mount it will have. */
static void test_intent(Fixture *f, gconstpointer data) {
        g_autofree char *directory = g_build_filename(f->directory, "then", NULL),
                        *path = g_build_filename(directory, "state.db", NULL);
        g_autoptr(GVariant) result = NULL;
        Volumes all = { 0 };
        Store *store = NULL;
        Volume *v;

        g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
        result = mount(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "");
        g_assert_cmpint(store_open(path, &store), ==, 0);
        g_assert_cmpint(store_load(store, &all, on_skipped, NULL), ==, 0);
        v = volumes_find(&all, "v");
        g_assert_nonnull(v);
        g_assert_cmpint((int) v->mark.label_state, ==, (int) FILES_PARTIAL);
        g_assert_null(v->holders);
        volumes_done(&all);
        store_close(store);
}

/* What can't be recorded is not kept. */
static void test_not_durable(Fixture *f, gconstpointer data) {
        GAsyncResult *pending;
        GError *error = NULL;

        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-slow", T1, SERVICE_A));
        wait_for_job(f, 1, "running");
        daemon_limit(f, TRUE);
        g_assert_null(call_end(f, pending, &error));
        daemon_limit(f, FALSE);
        assert_error(g_steal_pointer(&error), "StoreFailed", "could not be written");
        WAIT_FOR(f, !is_mounted(f, T1));
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        run_for(1100);
        assert_relabel(f, "/dev/walk-slow", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");
}

/* Killed in the middle: rolled back, partial, and the next call finishes it. */
static void test_killed(Fixture *f, gconstpointer data) {
        GAsyncResult *pending;
        g_autoptr(GVariant) plan = NULL, result = NULL;
        GError *error = NULL;

        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-slow", T1, SERVICE_A));
        wait_for_job(f, 1, "running");
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, pending, &error));
        g_clear_error(&error);
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_label(f, "partial", CONTEXT_A, "false");
        plan = call(f, "PlanVolume", mount_arguments("v", "/dev/walk-slow", T1, SERVICE_A), &error);
        g_assert_no_error(error);
        result = g_variant_get_child_value(plan, 0);
        g_assert_cmpstr(get_string(result, "Relabel"), ==, "walk");
        g_assert_cmpstr(get_string(result, "RelabelReason"), ==, "partial");
        assert_relabel(f, "/dev/walk-slow", T1, SERVICE_A, CONTEXT_A, "walked", "partial");
}

#define MARK(label, tainted, context) \
        "version=2 inode=0 fingerprint= label=" label " tainted=" tainted " ownership=unknown gid=0 context=" context

/* What a volume that comes from elsewhere says of itself. */
static const struct {
        const char *name, *mark, *relabel, *reason;
} carried[] = {
        { "complete", MARK("complete", "no", CONTEXT_A), "skipped", "complete" },
        { "tainted", MARK("complete", "yes", CONTEXT_A), "walked", "tainted" },
        { "garbage", "complete, believe me", "walked", "unknown" },
};

static void test_carried(Fixture *f, gconstpointer data) {
        gsize i = GPOINTER_TO_SIZE(data);

        write_file(f, "mark-vdb", carried[i].mark);
        write_file(f, "root-vdb", CONTEXT_A);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, carried[i].relabel, carried[i].reason);
        assert_label(f, "complete", CONTEXT_A, "false");
}

/* A volume that was made anew: what selvold remembers of it counts for nothing. */
static void test_missing(Fixture *f, gconstpointer data) {
        g_autofree char *path = g_build_filename(f->directory, "mark-vdb", NULL);

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        assert_label(f, "complete", CONTEXT_A, "false");
        g_assert_cmpint(remove(path), ==, 0);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");
}

/* Of a volume that can't carry a mark nothing is known for longer than a mount. */
static void test_no_mark(Fixture *f, gconstpointer data) {
        for (int i = 0; i < 2; i++) {
                assert_relabel(f, "/dev/nomark", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
                assert_label(f, "unknown", "", "false");
                unmount(f, T1);
        }
}

/* A disk that keeps no fingerprint in its mark: selvold keeps it while nobody has the volume. Alive and ours it is believed,
 * whatever is written meanwhile. */
static void test_elsewhere(Fixture *f, gconstpointer data) {
        write_file(f, "fingerprint-vdb", "xfs:1");
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        write_file(f, "fingerprint-vdb", "xfs:2");
        assert_relabel(f, "/dev/vdb", T2, SERVICE_A, CONTEXT_A, "skipped", "complete");
        unmount(f, T1);
        write_file(f, "fingerprint-vdb", "xfs:3");
        unmount(f, T2);

        /* What was kept outlives selvold, and so does what is alive. */
        daemon_stop(f, SIGKILL);
        daemon_start(f, CALLER_ROOT);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");
        daemon_stop(f, SIGKILL);
        write_file(f, "fingerprint-vdb", "xfs:4");
        daemon_start(f, CALLER_ROOT);
        assert_relabel(f, "/dev/vdb", T2, SERVICE_A, CONTEXT_A, "skipped", "complete");
        unmount(f, T1);
        unmount(f, T2);

        /* Somebody else had it; and when that is mended it is believed again. */
        write_file(f, "fingerprint-vdb", "xfs:5");
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "mounted-elsewhere");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");

        /* Unmounted by others, who may have had it since. */
        daemon_stop(f, SIGTERM);
        write_file(f, "mounts", "");
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "mounted-elsewhere");
}

/* Somebody else has it mounted beside a holder: nothing is believed, nor claimed. */
static void test_beside(Fixture *f, gconstpointer data) {
        g_autofree char *mounts = NULL, *with = NULL;

        write_file(f, "fingerprint-vdb", "xfs:1");
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        mounts = read_file(f, "mounts");
        with = g_strconcat(mounts, "7 /mnt /dev/vdb ext4 - 0\n", NULL);
        write_file(f, "mounts", with);
        assert_relabel(f, "/dev/vdb", T2, SERVICE_A, CONTEXT_A, "walked", "mounted-elsewhere");
        assert_mark(f, "mark-vdb", "label=unknown");
        unmount(f, T2);
        write_file(f, "mounts", mounts);
        assert_relabel(f, "/dev/vdb", T2, SERVICE_A, CONTEXT_A, "walked", "unknown");
}

/* An administrator says that nobody but selvol mounts the driver's volumes. */
static void test_trusted(Fixture *f, gconstpointer data) {
        static const char driven[] =
                "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'RelabelBy': <'service'>, 'Driver': <'d.example'>}";

        daemon_stop(f, SIGTERM);
        write_file(f, "etc/selvol.conf.d/trusted.conf", "[Driver d.example]\nTrustedMark=yes\n");
        daemon_start(f, CALLER_ROOT);
        write_file(f, "fingerprint-vdb", "xfs:1");
        assert_relabel(f, "/dev/vdb", T1, driven, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        write_file(f, "fingerprint-vdb", "xfs:2");
        assert_relabel(f, "/dev/vdb", T1, driven, CONTEXT_A, "skipped", "trusted-mark");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, driven, CONTEXT_A, "skipped", "complete");
}

/* A disk that comes back as another device says who it is. */
static void test_other_device(Fixture *f, gconstpointer data) {
        assert_relabel(f, "/dev/a/disk", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        assert_relabel(f, "/dev/b/disk", T1, SERVICE_A, CONTEXT_A, "skipped", "complete");
}

static void assert_planned(Fixture *f, const char *options, const char *relabel, const char *reason) {
        g_autoptr(GVariant) plan = NULL, result = NULL;
        GError *error = NULL;

        plan = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T1, options), &error);
        g_assert_no_error(error);
        result = g_variant_get_child_value(plan, 0);
        assert_text(result, "Relabel", relabel);
        assert_text(result, "RelabelReason", reason);
}

static void test_plan(Fixture *f, gconstpointer data) {
        assert_planned(f, SERVICE_A, "walk", "unknown");
        assert_planned(f, RUNTIME_A, NULL, NULL);
        g_assert_cmpuint(count_walks(f), ==, 0);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        assert_planned(f, SERVICE_A, "skip", "complete");
        assert_planned(f, SERVICE_B, "walk", "other-context");
        assert_metric(f, "selvol_relabels_total{outcome=\"walked\",reason=\"unknown\"} 1\n");
}

static void assert_history(Fixture *f, const char *text) {
        g_autoptr(GVariant) reply = NULL;
        g_autofree char *all = NULL;
        GError *error = NULL;

        reply = call_end(f, call_start_at(f, "/org/selvol1/volume/v", "org.selvol1.Volume", "GetHistory", NULL),
                         &error);
        g_assert_no_error(error);
        all = g_variant_print(reply, FALSE);
        g_assert_nonnull(strstr(all, text));
}

static GAsyncResult *start_adopt(Fixture *f, const char *options) {
        return call_start(f, "AdoptVolume",
                          g_variant_new("(ss@a{sv})", "v", T1,
                                        g_variant_parse(G_VARIANT_TYPE("a{sv}"), options, NULL, NULL, NULL)));
}

static GAsyncResult *start_verify_of(Fixture *f, const char *subject, const char *options) {
        return call_start(f, "VerifyLabel",
                          g_variant_new("(ss@a{sv})", subject, "",
                                        g_variant_parse(G_VARIANT_TYPE("a{sv}"), options, NULL, NULL, NULL)));
}

static GAsyncResult *start_verify(Fixture *f, const char *options) {
        return start_verify_of(f, "v", options);
}

static GVariant *end_verify(Fixture *f, GAsyncResult *pending, gboolean matches) {
        g_autoptr(GVariant) reply = NULL;
        GVariant *result;
        GError *error = NULL;
        gboolean actual;

        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(b&s@a{sv})", &actual, NULL, &result);
        g_assert_cmpint(actual, ==, matches);
        return result;
}

static void test_adopt(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) first = NULL, again = NULL;
        g_autofree char *said = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 - 0\n");
        first = end_mount(f, start_adopt(f, SERVICE_A), CONTEXT_A, "");
        g_assert_cmpstr(get_string(first, "Relabel"), ==, "walked");
        assert_label(f, "complete", CONTEXT_A, "false");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==, "target=" T1 " context=" CONTEXT_A " blind=0 rate=0 change=keep\n");
        again = end_mount(f, start_adopt(f, SERVICE_A), CONTEXT_A, "");
        g_assert_cmpstr(get_string(again, "Relabel"), ==, "skipped");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        g_assert_null(call_end(f, start_adopt(f, SERVICE_B), &error));
        assert_error(g_steal_pointer(&error), "Incompatible", "unmount it first");
}

static void test_adopt_fails(Fixture *f, gconstpointer data) {
        g_autofree char *table = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/walk-fails ext4 - 0\n");
        g_assert_null(call_end(f, start_adopt(f, SERVICE_A), &error));
        assert_error(g_steal_pointer(&error), "EntriesFailed", "dir/file-0");
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_label(f, "partial", CONTEXT_A, "false");
        /* It is somebody else's mount. */
        table = mount_table(f);
        g_assert_nonnull(strstr(table, T1));
}

/* What it does to labels is noted on the volume, too, and nobody is told of a holder if that is not so. */
static void test_adopt_marks(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) adopted = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n");
        adopted = end_mount(f, start_adopt(f, "{'SELinuxLevel': <'s0:c0,c10'>}"), CONTEXT_A, "");
        assert_label(f, "unknown", "", "true");
        assert_mark(f, "mark-vdb", "label=unknown tainted=yes");
        unmount(f, T1);

        write_file(f, "mounts", "7 " T1 " /dev/mark-fails ext4 " CONTEXT_A " 0\n");
        g_assert_null(call_end(f, start_adopt(f, "{'SELinuxLevel': <'s0:c0,c10'>}"), &error));
        assert_error(g_steal_pointer(&error), "MountFailed", "mark");
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_label(f, "unknown", "", "true");
}

/* What a volume that nobody has known yet claims is taken back where a runtime relabels it. */
static void test_adopt_claims(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) adopted = NULL;

        write_file(f, "mark-vdb", MARK("complete", "no", CONTEXT_A));
        write_file(f, "root-vdb", CONTEXT_A);
        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 - 0\n");
        adopted = end_mount(f, start_adopt(f, RUNTIME_A), CONTEXT_A, "Z");
        assert_mark(f, "mark-vdb", "label=unknown");
        unmount(f, T1);
        assert_label(f, "unknown", "", "false");
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
}

/* A holder whose labels nobody manages goes on to write: the mark never says more than that. */
static void test_unmanaged_holder(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) other = NULL, mounted = NULL, adopted = NULL;
        g_autofree char *said = NULL;
        GError *error = NULL;

        other = call_mount(f, "other", "/dev/a/vdb", T2, "{'VolumeType': <'cephfs'>}", &error);
        g_assert_no_error(error);
        mounted = mount(f, "/dev/a/vdb", T1, SERVICE_A, CONTEXT_A, "");
        g_assert_cmpstr(get_string(mounted, "Relabel"), ==, "walked");
        g_assert_cmpstr(get_string(mounted, "LabelState"), ==, "unknown");
        assert_mark(f, "mark-vdb", "label=unknown");
        unmount(f, T1);
        assert_relabel(f, "/dev/a/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        unmount(f, T1);
        write_file(f, "mounts", "6 " T2 " /dev/a/vdb ext4 - 0\n7 " T1 " /dev/a/vdb ext4 - 0\n");
        run_for(200);
        adopted = end_mount(f, start_adopt(f, SERVICE_A), CONTEXT_A, "");
        g_assert_cmpstr(get_string(adopted, "Relabel"), ==, "walked");
        said = read_file(f, "walks");
        g_assert_nonnull(strstr(said, "change=reset-labels\n"));
}

/* What was left alone is told, and the state says so. */
static void test_links(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, submounts = NULL, verified = NULL;

        mounted = mount(f, "/dev/links", T1, SERVICE_A, CONTEXT_A, "");
        g_assert_cmpuint(get_number(mounted, "EntriesSkipped"), ==, 7);
        g_assert_cmpstr(get_string(mounted, "LabelState"), ==, "partial");
        submounts = g_variant_lookup_value(mounted, "Submounts", G_VARIANT_TYPE("as"));
        g_assert_cmpuint(g_variant_n_children(submounts), ==, 1);
        assert_history(f, "7 hard links may lead out of the volume and were left alone");
        assert_history(f, "Submounts were not entered: lost+found.");
        write_file(f, "root-links", CONTEXT_A);
        verified = end_verify(f, start_verify(f, "{'Depth': <'full'>}"), TRUE);
        g_assert_cmpstr(get_string(verified, "Text"), ==, "All 300 entries have the label.");
        unmount(f, T1);
        assert_relabel(f, "/dev/links", T1, SERVICE_A, CONTEXT_A, "walked", "partial");
}

/* Only a relabel of everything clears a taint. */
static void test_links_tainted(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) tainted = NULL, mounted = NULL;

        tainted = mount(f, "/dev/links", T1, ON_MOUNT_A, CONTEXT_A, "");
        assert_label(f, "unknown", "", "true");
        unmount(f, T1);
        mounted = mount(f, "/dev/links", T1, SERVICE_A, CONTEXT_A, "");
        g_assert_cmpuint(get_number(mounted, "EntriesSkipped"), ==, 7);
        assert_label(f, "partial", CONTEXT_A, "true");
}

/* What moved to the last may have been missed: the mount is there, but no later relabel is skipped. */
static void test_restless(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = mount(f, "/dev/restless", T1, SERVICE_A, CONTEXT_A, "");

        g_assert_cmpuint(get_number(mounted, "DirectoriesModified"), ==, 3);
        g_assert_cmpstr(get_string(mounted, "LabelState"), ==, "partial");
        assert_history(f, "3 directories were modified until the end");
        unmount(f, T1);
        assert_relabel(f, "/dev/restless", T1, SERVICE_A, CONTEXT_A, "walked", "partial");
}

/* A look at all files doesn't keep a pod from its end. */
static void test_unmount_meanwhile(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        GAsyncResult *first, *second;
        GError *error = NULL;

        mounted = mount(f, "/dev/walk-crawl", T1, RUNTIME_A, CONTEXT_A, "Z");
        first = start_verify(f, "{'Depth': <'full'>}");
        second = start_verify_of(f, T1, "{'Depth': <'full'>}");
        run_for(200);
        unmount(f, T1);
        g_assert_null(call_end(f, first, &error));
        assert_error(g_steal_pointer(&error), "Canceled", "canceled by an unmount");
        g_assert_null(call_end(f, second, &error));
        assert_error(g_steal_pointer(&error), "Canceled", "canceled by an unmount");
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
}

/* Killed while the files of an adopted volume are relabeled: nobody was promised anything. */
static void test_adopt_killed(Fixture *f, gconstpointer data) {
        GAsyncResult *pending;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/walk-crawl ext4 - 0\n");
        pending = start_adopt(f, SERVICE_A);
        wait_for_job(f, 1, "running");
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, pending, &error));
        g_clear_error(&error);
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_label(f, "partial", CONTEXT_A, "false");
}

static void test_verify(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) full = NULL, root = NULL, job = NULL, details = NULL;
        g_autofree char *verified = NULL;

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        full = end_verify(f, start_verify(f, "{'Depth': <'full'>}"), TRUE);
        g_assert_cmpuint(get_number(full, "EntriesDone"), ==, 300);
        g_assert_cmpstr(get_string(full, "Text"), ==, "All 300 entries have the label.");
        assert_absent(full, "Mismatches");
        assert_absent(full, "EntriesFailed");
        assert_absent(full, "FSGroup");
        job = g_variant_lookup_value(full, "Job", G_VARIANT_TYPE_OBJECT_PATH);
        details = job_wait(f, g_variant_get_string(job, NULL), "done");
        g_assert_cmpstr(get_string(details, "Actual"), ==, CONTEXT_A);
        root = end_verify(f, start_verify(f, "{}"), TRUE);
        g_assert_cmpstr(get_string(root, "Depth"), ==, "root");
        assert_absent(root, "Job");
        assert_metric(f, "selvol_verify_duration_seconds_count{depth=\"full\"} 1\n");
        assert_metric(f, "selvol_verifications_total{depth=\"full\",result=\"match\"} 1\n");
        assert_metric(f, "selvol_verifications_total{depth=\"root\",result=\"match\"} 1\n");
        assert_metric(f, "selvol_volumes_label_state{state=\"complete\"} 1\n");
        assert_metric(f, "selvol_volumes_ownership_state{state=\"unknown\"} 1\n");
        assert_label(f, "complete", CONTEXT_A, "false");
        verified = get_volume_text(f, "v", "LastVerifiedUSec");
        g_assert_cmpuint(g_ascii_strtoull(verified, NULL, 10), >, 0);
}

/* Unlike a relabel it has nothing that a further call could go on with. */
static void test_verify_times_out(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        g_variant_unref(mount(f, "/dev/walk-crawl", T1, ON_MOUNT_A, CONTEXT_A, ""));
        g_assert_null(call_end(f, start_verify(f, "{'Depth': <'full'>, 'TimeoutUSec': <@t 300000>}"), &error));
        assert_error(g_steal_pointer(&error), "TimedOut", "a further call begins anew");
}

/* What it has found is of the mount that it was begun for, not of one that has its id and its place by now. */
static void test_verify_replaced(Fixture *f, gconstpointer data) {
        g_autofree char *table = NULL, *before = NULL, *after = NULL;
        g_autoptr(GVariant) other = NULL, full = NULL;
        GAsyncResult *pending;
        GError *error = NULL;

        g_variant_unref(mount(f, "/dev/walk-held", T1, ON_MOUNT_A, CONTEXT_A, ""));
        pending = start_verify(f, "{'Depth': <'full'>}");
        wait_for_job(f, 2, "running");
        write_file(f, "mounts", "");
        WAIT_FOR(f, count_holders(f, "v") == 0);
        other = call_mount(f, "w", "/dev/vdc", T1, ON_MOUNT_A, &error);
        g_assert_no_error(error);
        table = mount_table(f);
        g_assert_true(g_str_has_prefix(table, "1000 "));
        before = get_volume_text(f, "w", "LastVerifiedUSec");
        write_file(f, "go", "");
        full = end_verify(f, pending, TRUE);
        after = get_volume_text(f, "w", "LastVerifiedUSec");
        g_assert_cmpstr(after, ==, before);
}

/* Files that are not what the mark says: from then on nothing is skipped, here or elsewhere. If the mark can't be reset
 * the answer says so. */
static void test_verify_mismatch(Fixture *f, gconstpointer data) {
        const char *source = data, *path, *label;
        gboolean stays = g_str_has_suffix(source, "stays");
        g_autoptr(GVariant) full = NULL, mismatches = NULL;

        assert_relabel(f, source, T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        full = end_verify(f, start_verify(f, "{'Depth': <'full'>}"), FALSE);
        g_assert_cmpuint(get_number(full, "EntriesMismatched"), ==, 2);
        g_assert_nonnull(strstr(get_string(full, "Text"), "2 of 300 entries"));
        mismatches = g_variant_lookup_value(full, "Mismatches", G_VARIANT_TYPE("a(ss)"));
        g_variant_get_child(mismatches, 0, "(&s&s)", &path, &label);
        g_assert_cmpstr(path, ==, "dir/a");
        g_assert_cmpstr(label, ==, "system_u:object_r:tmp_t:s0");
        assert_metric(f, "selvol_verifications_total{depth=\"full\",result=\"mismatch\"} 1\n");
        assert_metrics_zero(f, "selvol_verifications_total{depth=\"full\",result=\"match\"}");
        if (stays) {
                g_assert_nonnull(strstr(get_string(full, "Text"), "the file system is read-only"));
                return;
        }
        assert_label(f, "unknown", "", "false");
        assert_mark(f, "mark-mismatch", "label=unknown");
        daemon_stop(f, SIGKILL);
        daemon_start(f, CALLER_ROOT);
        assert_label(f, "unknown", "", "false");
        unmount(f, T1);
        assert_relabel(f, source, T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
}

/* Likewise a wrong label anywhere beneath a target, where no look at the root would notice it. */
static void test_verify_beneath(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) verified = NULL;

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        verified = end_verify(f, start_verify_of(f, T1 "/data", data), FALSE);
        g_assert_cmpstr(get_string(verified, "Expected"), ==, CONTEXT_A);
        assert_label(f, "unknown", "", "false");
        assert_mark(f, "mark-vdb", "label=unknown");
}

/* A wrong root is told, and seen again when it matters. */
static void test_verify_root(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) verified = NULL;

        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "unknown");
        write_file(f, "root-vdb", CONTEXT_B);
        verified = end_verify(f, start_verify_of(f, T1, "{}"), FALSE);
        assert_label(f, "complete", CONTEXT_A, "false");
        unmount(f, T1);
        assert_relabel(f, "/dev/vdb", T1, SERVICE_A, CONTEXT_A, "walked", "root-differs");
}

static void test_verify_slow(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, one = NULL, two = NULL, other = NULL, canceled = NULL;
        g_autofree char *job = NULL, *text = NULL;
        GAsyncResult *first, *second;
        GError *error = NULL;

        mounted = mount(f, "/dev/walk-slow", T1, RUNTIME_A, CONTEXT_A, "Z");
        write_file(f, "root-walk-slow", CONTEXT_A);
        first = start_verify(f, "{'Depth': <'full'>}");
        run_for(200);
        second = start_verify(f, "{'Depth': <'full'>}");
        other = end_verify(f, start_verify(f, "{'Depth': <'root'>}"), TRUE);
        job = get_volume_text(f, "v", "Job");
        text = get_text(f, job, "org.selvol1.Job", "Operation");
        g_assert_cmpstr(text, ==, "verify");
        one = end_verify(f, first, TRUE);
        two = end_verify(f, second, TRUE);
        g_assert_true(g_variant_equal(one, two));
        assert_metric(f, "selvol_verify_duration_seconds_count{depth=\"full\"} 1\n");

        first = start_verify(f, "{'Depth': <'full'>}");
        run_for(200);
        g_free(job);
        job = get_volume_text(f, "v", "Job");
        canceled = call_end(f, call_start_at(f, job, "org.selvol1.Job", "Cancel", NULL), &error);
        g_assert_no_error(error);
        g_assert_null(call_end(f, first, &error));
        assert_error(g_steal_pointer(&error), "Canceled", "canceled");
}

static void test_verify_bad(Fixture *f, gconstpointer data) {
        static const struct {
                const char *options, *text;
        } calls[] = {
                { "{'Depth': <'sample'>}", "Depth" },
                { "{'Depth': <'full'>, 'Force': <true>}", "Force" },
        };
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;

        mounted = mount(f, "/dev/walk-rubbish", T1, RUNTIME_A, CONTEXT_A, "Z");
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_assert_null(call_end(f, start_verify(f, calls[i].options), &error));
                assert_error(g_steal_pointer(&error), "InvalidOption", calls[i].text);
        }
        /* It says that all match, and counts mismatches. */
        g_assert_null(call_end(f, start_verify(f, "{'Depth': <'full'>}"), &error));
        assert_error(g_steal_pointer(&error), "WorkerFailed", "same version");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/relabel/" name, Fixture, data, set_up, function, tear_down)
        ADD("story", NULL, test_story);
        ADD("alias-on-its-way", NULL, test_alias_on_its_way);
        ADD("tainted", NULL, test_tainted);
        ADD("runtime", NULL, test_runtime);
        ADD("hidden", NULL, test_hidden);
        ADD("canceled", NULL, test_canceled);
        ADD("fails/entries", "/dev/walk-fails", test_fails);
        ADD("fails/dies", "/dev/walk-die", test_fails);
        ADD("fails/publish", NULL, test_publish_fails);
        ADD("intent", NULL, test_intent);
        ADD("not-durable", NULL, test_not_durable);
        ADD("killed", NULL, test_killed);
        for (gsize i = 0; i < G_N_ELEMENTS(carried); i++) {
                g_autofree char *path = g_strdup_printf("/relabel/carried/%s", carried[i].name);

                g_test_add(path, Fixture, GSIZE_TO_POINTER(i), set_up, test_carried, tear_down);
        }
        ADD("missing", NULL, test_missing);
        ADD("elsewhere", NULL, test_elsewhere);
        ADD("beside", NULL, test_beside);
        ADD("trusted", NULL, test_trusted);
        ADD("no-mark", NULL, test_no_mark);
        ADD("other-device", NULL, test_other_device);
        ADD("plan", NULL, test_plan);
        ADD("adopt/story", NULL, test_adopt);
        ADD("adopt/fails", NULL, test_adopt_fails);
        ADD("adopt/marks", NULL, test_adopt_marks);
        ADD("adopt/claims", NULL, test_adopt_claims);
        ADD("unmanaged-holder", NULL, test_unmanaged_holder);
        ADD("links", NULL, test_links);
        ADD("links-tainted", NULL, test_links_tainted);
        ADD("restless", NULL, test_restless);
        ADD("verify-beneath/root", "{}", test_verify_beneath);
        ADD("verify-beneath/full", "{'Depth': <'full'>}", test_verify_beneath);
        ADD("verify-root", NULL, test_verify_root);
        ADD("unmount-meanwhile", NULL, test_unmount_meanwhile);
        ADD("adopt/killed", NULL, test_adopt_killed);
        ADD("verify/story", NULL, test_verify);
        ADD("verify/times-out", NULL, test_verify_times_out);
        ADD("verify/replaced", NULL, test_verify_replaced);
        ADD("verify/mismatch", "/dev/mismatch", test_verify_mismatch);
        ADD("verify/mismatch-stays", "/dev/mismatch-stays", test_verify_mismatch);
        ADD("verify/slow", NULL, test_verify_slow);
        ADD("verify/bad", NULL, test_verify_bad);
        return g_test_run();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Jobs on the bus, by way of Relabel: how they begin, are watched, waited for and canceled, and what is on disk
 * meanwhile; what is refused. */

#include <signal.h>

#include "model/failure.h"
#include "support.h"

#define T1        "/var/lib/kubelet/pods/a/volumes/v"
#define T2        "/var/lib/kubelet/pods/b/volumes/v"
#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c10"
#define CONTEXT_B "system_u:object_r:container_file_t:s0:c20,c30"
#define SERVICE_A "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'RelabelBy': <'service'>}"
#define ALWAYS_A  "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>}"
#define JOB       "org.selvol1.Job"
#define SOON      "'TimeoutUSec': <@t 300000>"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

static void mount_always(Fixture *f, const char *volume, const char *source, const char *target) {
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call_mount(f, volume, source, target, ALWAYS_A, &error);
        g_assert_no_error(error);
}

/* Known, and held by nobody. */
static void make_free(Fixture *f, const char *volume, const char *source) {
        GError *error = NULL;

        mount_always(f, volume, source, T1);
        g_assert_true(call_unmount(f, volume, T1, &error));
        g_assert_no_error(error);
}

static void assert_label(Fixture *f, const char *state, const char *context) {
        g_autofree char *actual_state = get_volume_text(f, "v", "LabelState"),
                        *actual_context = get_volume_text(f, "v", "LabelContext");

        g_assert_cmpstr(actual_state, ==, state);
        g_assert_cmpstr(actual_context, ==, context);
}

/* The volume itself says so, whatever selvold remembers. */
static void assert_mark(Fixture *f, const char *name, const char *text) {
        g_autofree char *mark = read_file(f, name);

        if (!strstr(mark, text))
                g_test_message("%s: %s", name, mark);
        g_assert_nonnull(strstr(mark, text));
}

static void test_held(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *again = NULL, *forced = NULL, *said = NULL, *volume_job = NULL;
        g_autoptr(GVariant) details = NULL, skipped = NULL, walked = NULL, mounted = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, SERVICE_A, &error);
        g_assert_no_error(error);
        write_file(f, "walks", "");
        write_file(f, "root-vdb", CONTEXT_B);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(job, ==, "/org/selvol1/job/2");
        details = job_wait(f, job, "done");
        g_assert_cmpstr(get_string(details, "Relabel"), ==, "walked");
        g_assert_cmpstr(get_string(details, "RelabelReason"), ==, "root-differs");
        g_assert_cmpuint(get_number(details, "EntriesDone"), ==, 300);
        g_assert_cmpuint(get_number(details, "EntriesChanged"), ==, 250);
        assert_absent(details, "EntriesSkipped");
        assert_absent(details, "DirectoriesModified");
        assert_absent(details, "Submounts");
        assert_absent(details, "Failures");
        assert_absent(details, "ErrorName");
        assert_absent(details, "ErrorMessage");
        assert_absent(details, "Ownership");
        assert_absent(details, "FSGroup");
        assert_label(f, "complete", CONTEXT_A);
        assert_mark(f, "mark-vdb", "label=complete tainted=no");
        volume_job = get_volume_text(f, "v", "Job");
        g_assert_cmpstr(volume_job, ==, "/");

        again = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        skipped = job_wait(f, again, "done");
        g_assert_cmpstr(get_string(skipped, "Relabel"), ==, "skipped");
        g_assert_cmpstr(get_string(skipped, "RelabelReason"), ==, "complete");
        assert_absent(skipped, "EntriesDone");

        forced = call_relabel(f, "v", "", "{'Force': <true>, 'MaxEntriesPerSecond': <@t 500>}", &error);
        g_assert_no_error(error);
        walked = job_wait(f, forced, "done");
        g_assert_cmpstr(get_string(walked, "RelabelReason"), ==, "forced");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==,
                        "target=" T1 " context=" CONTEXT_A " blind=0 rate=0 change=keep\n"
                        "target=" T1 " context=" CONTEXT_A " blind=0 rate=500 change=keep\n");
        assert_metric(f, "selvol_relabels_total{outcome=\"walked\",reason=\"root-differs\"} 1\n");
        assert_metric(f, "selvol_relabels_total{outcome=\"skipped\",reason=\"complete\"} 1\n");
        assert_metric(f, "selvol_relabel_entries_total{result=\"changed\"} 750\n");
        assert_metric(f, "selvol_relabel_entries_total{result=\"unchanged\"} 150\n");
        assert_metric(f, "selvol_relabel_duration_seconds_count 3\n");
        assert_metric(f, "selvol_jobs_walking 0\n");
}

/* The runtime of its holder may be at work still: all files are right, and nothing is known all the same, here and on
 * the volume, from one moment on. */
static void test_held_by_runtime(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *said = NULL;
        g_autoptr(GVariant) details = NULL;
        GError *error = NULL;

        mount_always(f, "v", "/dev/vdb", T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, job, "done");
        g_assert_cmpstr(get_string(details, "Relabel"), ==, "walked");
        assert_label(f, "unknown", "");
        said = read_file(f, "walks");
        g_assert_nonnull(strstr(said, "change=reset-labels\n"));
        assert_mark(f, "mark-vdb", "label=unknown");
}

/* What was left alone may have any label. */
static void test_links(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *again = NULL;
        g_autoptr(GVariant) details = NULL, second = NULL, submounts = NULL;
        GError *error = NULL;

        make_free(f, "v", "/dev/links");
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, job, "done");
        g_assert_cmpuint(get_number(details, "EntriesSkipped"), ==, 7);
        submounts = g_variant_lookup_value(details, "Submounts", G_VARIANT_TYPE("as"));
        g_assert_cmpuint(g_variant_n_children(submounts), ==, 1);
        assert_label(f, "partial", CONTEXT_A);
        assert_mark(f, "mark-links", "label=partial");
        again = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        second = job_wait(f, again, "done");
        g_assert_cmpstr(get_string(second, "RelabelReason"), ==, "partial");
}

/* The options of the last mount say which part of a disk it was; where others have mounted it, nothing does. */
static void test_free_part(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, adopted = NULL, tmpfs = NULL, details = NULL;
        g_autofree char *job = NULL, *staged = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/btrfs", T1, "{'MountOptions': <['subvol=pvc-1', 'noatime']>}", &error);
        g_assert_no_error(error);
        g_assert_true(call_unmount(f, "v", T1, &error));
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, job, "done");
        staged = read_file(f, "staged");
        g_assert_cmpstr(staged, ==, "/dev/btrfs subvol=pvc-1,noatime\n");

        write_file(f, "mounts", "7 " T1 " /dev/btrfs btrfs - 0\n");
        adopted = call(f, "AdoptVolume", g_variant_new("(ss@a{sv})", "v", T1, g_variant_new("a{sv}", NULL)), &error);
        g_assert_no_error(error);
        g_assert_true(call_unmount(f, "v", T1, &error));
        g_assert_null(call_relabel(f, "v", CONTEXT_A, NULL, &error));
        assert_error(g_steal_pointer(&error), "NotSupported", "Mount it first");

        tmpfs = call_mount(f, "w", "tmpfs", T2, "{'FSType': <'tmpfs'>}", &error);
        g_assert_no_error(error);
        g_assert_true(call_unmount(f, "w", T2, &error));
        g_assert_null(call_relabel(f, "w", CONTEXT_A, NULL, &error));
        assert_error(g_steal_pointer(&error), "NotSupported", "Mount it first");
}

/* One disk under two names is relabeled for one of them at a time, whatever the device is called. */
static void test_one_device(Fixture *f, gconstpointer data) {
        static const char soon_b[] = "{'SELinuxLevel': <'s0:c20,c30'>, 'RelabelBy': <'service'>, " SOON "}";
        g_autofree char *job = NULL;
        g_autoptr(GVariant) mounted = NULL, canceled = NULL;
        GError *error = NULL;

        make_free(f, "v", "/dev/a/walk-crawl");
        make_free(f, "w", "/dev/b/walk-crawl");
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        g_assert_null(call_relabel(f, "w", CONTEXT_B, "{" SOON "}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "volume v");
        g_assert_null(call_mount(f, "w", "/dev/b/walk-crawl", T1, soon_b, &error));
        assert_error(g_steal_pointer(&error), "Busy", "volume v");
        g_assert_null(call_mount(f, "x", "/dev/a/walk-crawl", T1, "{" SOON "}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "volume v");
        g_assert_null(call_mount(f, "x", "/dev/b/walk-crawl", T1, "{" SOON "}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "volume v");
        mounted = call_mount(f, "x", "/dev/a/vdc", T1, ALWAYS_A, &error);
        g_assert_no_error(error);
        assert_label(f, "partial", CONTEXT_A);
        canceled = call_end(f, call_start_at(f, job, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
}

/* What is forced serves all; what may be skipped serves nobody who forces. */
static void test_join_forced(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *same = NULL, *forced = NULL;
        g_autoptr(GVariant) canceled = NULL, again = NULL;
        GError *error = NULL;

        make_free(f, "v", "/dev/walk-crawl");
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        g_assert_null(call_relabel(f, "v", CONTEXT_A, "{'Force': <true>, " SOON "}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "job 3");
        canceled = call_end(f, call_start_at(f, job, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
        forced = call_relabel(f, "v", CONTEXT_A, "{'Force': <true>}", &error);
        g_assert_no_error(error);
        same = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(same, ==, forced);
        again = call_end(f, call_start_at(f, forced, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
}

/* Without a context: that of the last use, or that of the relabel that was begun; if these are two, neither. */
static void test_recorded_context(Fixture *f, gconstpointer data) {
        g_autofree char *begun = NULL, *same = NULL, *other = NULL;
        g_autoptr(GVariant) mounted = NULL, canceled = NULL, again = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/a/walk-crawl", T1, "{}", &error);
        g_assert_no_error(error);
        g_assert_true(call_unmount(f, "v", T1, &error));
        begun = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        same = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(same, ==, begun);
        canceled = call_end(f, call_start_at(f, begun, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);

        make_free(f, "w", "/dev/b/walk-crawl");
        other = call_relabel(f, "w", CONTEXT_B, NULL, &error);
        g_assert_no_error(error);
        again = call_end(f, call_start_at(f, other, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
        g_assert_null(call_relabel(f, "w", "", NULL, &error));
        assert_error(g_steal_pointer(&error), "InvalidContext", CONTEXT_A ", but a relabel to " CONTEXT_B);
}

/* Nobody has it: it is mounted where nobody sees it. Blind, as all files are known to have another context. */
static void test_free(Fixture *f, gconstpointer data) {
        g_autofree char *first = NULL, *second = NULL, *said = NULL, *table = NULL;
        g_autoptr(GVariant) one = NULL, two = NULL;
        GError *error = NULL;

        make_free(f, "v", "/dev/vdb");
        first = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        one = job_wait(f, first, "done");
        second = call_relabel(f, "v", CONTEXT_B, NULL, &error);
        g_assert_no_error(error);
        two = job_wait(f, second, "done");
        g_assert_cmpstr(get_string(two, "RelabelReason"), ==, "other-context");
        assert_label(f, "complete", CONTEXT_B);
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==,
                        "target= context=" CONTEXT_A " blind=0 rate=0 change=keep\n"
                        "target= context=" CONTEXT_B " blind=1 rate=0 change=keep\n");
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
}

/* What can't be made durable is not begun. */
static void test_not_durable(Fixture *f, gconstpointer data) {
        g_autofree char *said = NULL;
        GError *error = NULL;

        mount_always(f, "v", "/dev/vdb", T1);
        daemon_limit(f, TRUE);
        g_assert_null(call_relabel(f, "v", "", NULL, &error));
        daemon_limit(f, FALSE);
        assert_error(error, "StoreFailed", "no file was changed");
        said = read_file(f, "walks");
        g_assert_cmpstr(said, ==, "");
}

static const struct {
        const char *name, *source, *mount_options, *context, *kind, *text;
} refusals[] = {
        { "context-mounted", "/dev/vdb",
          "{'SELinuxLevel': <'s0:c1'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>}",
          CONTEXT_A, "NotSupported", "mounted with context" },
        { "stealing", "/dev/vdb", ALWAYS_A, CONTEXT_B, "ContextConflict", "pod-a" },
        { "host-path", "/dev/vdb", "{'VolumeType': <'hostPath'>}", CONTEXT_A, "NotSupported", "hostPath" },
        { "no-labels", "/dev/vfat", "{}", CONTEXT_A, "NotSupported", "keeps no labels" },
        { "read-only", "/dev/vdb", "{'ReadOnly': <true>}", CONTEXT_A, "NotSupported", "read-only" },
        { "type", "/dev/vdb", "{}", "system_u:object_r:shadow_t:s0:c1", "TypeNotAllowed", "shadow_t" },
        { "malformed", "/dev/vdb", "{}", "container_file_t", "InvalidContext", "" },
        { "no-context", "/dev/vdb", "{}", "", "InvalidContext", "" },
        { "worker-says-no", "/dev/walk-unsupported", ALWAYS_A, "", "NotSupported", "keeps no labels" },
};

/* What is clear before the walk is an error of the call. */
static void test_refused(Fixture *f, gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        g_autoptr(GVariant) reply = NULL;
        g_autofree char *state = NULL;
        GError *error = NULL;

        reply = call_mount(f, "v", refusals[i].source, T1, refusals[i].mount_options, &error);
        g_assert_no_error(error);
        g_assert_null(call_relabel(f, "v", refusals[i].context, NULL, &error));
        assert_error(g_steal_pointer(&error), refusals[i].kind, refusals[i].text);
        g_assert_null(call(f, "GetJob", g_variant_new("(t)", (guint64) 2), &error));
        assert_error(error, "NoSuchJob", "2");
        state = get_volume_text(f, "v", "LabelState");
        g_assert_cmpstr(state, !=, "complete");
}

static void test_bad_input(Fixture *f, gconstpointer data) {
        static const struct {
                const char *volume, *context, *options, *kind, *text;
        } calls[] = {
                { "nobody", CONTEXT_A, "{}", "NoSuchVolume", "nobody" },
                { "nobody", "", "{}", "NoSuchVolume", "nobody" },
                { "a/../b", CONTEXT_A, "{}", "InvalidVolume", "'..'" },
                { "v", CONTEXT_A, "{'MaxEntriesPerSecond': <@t 1000000001>}", "InvalidOption",
                  "MaxEntriesPerSecond" },
                { "v", CONTEXT_A, "{'WaitUSec': <@t 1>}", "InvalidOption", "WaitUSec" },
                { "v", CONTEXT_A, "{'Holder': <'x'>}", "InvalidOption", "Holder" },
                { "v", CONTEXT_A, "{'TimeoutUSec': <@t 3600000001>}", "InvalidOption", "TimeoutUSec" },
        };
        GError *error = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_assert_null(call_relabel(f, calls[i].volume, calls[i].context, calls[i].options, &error));
                assert_error(g_steal_pointer(&error), calls[i].kind, calls[i].text);
        }
        for (guint64 id = 0; id < 3; id++) {
                g_assert_null(call(f, "GetJob", g_variant_new("(t)", id), &error));
                assert_error(g_steal_pointer(&error), "NoSuchJob", "no longer kept");
        }
}

typedef struct Seen {
        guint new, removed, added, forgotten, changed, partial;
        char *result;
        guint64 most;
} Seen;

static void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                      const char *name, GVariant *parameters, gpointer userdata) {
        Seen *s = userdata;

        if (g_str_equal(name, "JobNew"))
                s->new ++;
        else if (g_str_equal(name, "JobRemoved")) {
                s->removed++;
                g_free(s->result);
                g_variant_get(parameters, "(to&s&ss)", NULL, NULL, NULL, NULL, &s->result);
        } else if (g_str_equal(name, "InterfacesAdded") && strstr(g_variant_get_type_string(parameters), "o")) {
                g_autofree char *object = NULL;

                g_variant_get(parameters, "(o@a{sa{sv}})", &object, NULL);
                if (g_str_has_prefix(object, "/org/selvol1/job/"))
                        s->added++;
        } else if (g_str_equal(name, "InterfacesRemoved"))
                s->forgotten++;
        else if (g_str_equal(name, "PropertiesChanged") && g_str_has_prefix(path, "/org/selvol1/job/")) {
                g_autoptr(GVariant) changed = NULL;
                guint64 done;

                g_variant_get(parameters, "(&s@a{sv}@as)", NULL, &changed, NULL);
                s->changed++;
                if (g_variant_lookup(changed, "EntriesDone", "t", &done) && done > s->most)
                        s->most = done;
        } else if (g_str_equal(name, "PropertiesChanged") && g_str_has_prefix(path, "/org/selvol1/volume/")) {
                g_autoptr(GVariant) changed = NULL;
                const char *state;

                g_variant_get(parameters, "(&s@a{sv}@as)", NULL, &changed, NULL);
                if (g_variant_lookup(changed, "LabelState", "&s", &state) && g_str_equal(state, "partial"))
                        s->partial++;
        }
}

/* No less than has been seen since before the start, and the end is as far as what is left takes. */
static void assert_rate(GVariant *job, gint64 start, gint64 started) {
        guint64 done = get_number(job, "EntriesDone"), rate = get_number(job, "EntriesPerSecond"),
                elapsed = (guint64) (g_get_monotonic_time() - start);

        g_assert_cmpuint(done, >=, 100);
        g_assert_cmpuint(get_number(job, "EntriesTotal"), ==, 300);
        g_assert_cmpuint(rate, >=, done * G_USEC_PER_SEC / elapsed);
        /* 208, or more where selvold was late to hear of the start. */
        g_assert_cmpuint(rate, <=, 2000);
        g_assert_cmpuint(get_number(job, "ExpectedEndUSec"), >=,
                         (guint64) started + (300 - done) * G_USEC_PER_SEC / (rate + 1));
}

/* Calls join, everybody is told, and not too often. */
static void test_slow(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *joined = NULL, *volume_job = NULL, *ended = NULL, *found = NULL;
        g_autoptr(GVariant) details = NULL, reply = NULL, during = NULL, all = NULL;
        GError *error = NULL;
        Seen seen = { 0 };
        guint subscription;
        gint64 start, started;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", NULL, NULL, NULL, NULL,
                                                          G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        mount_always(f, "v", "/dev/walk-slow", T1);
        g_assert_cmpuint(seen.new, ==, 0);
        start = g_get_monotonic_time();
        started = g_get_real_time();
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        joined = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(job, ==, joined);
        assert_label(f, "partial", CONTEXT_A);
        volume_job = get_volume_text(f, "v", "Job");
        g_assert_cmpstr(volume_job, ==, job);
        assert_metric(f, "selvol_jobs_walking 1\n");
        g_assert_cmpfloat(read_metric(f, "selvol_oldest_job_age_seconds{state=\"walking\"}"), >, 0);
        assert_metrics_zero(f, "selvol_oldest_job_age_seconds{state=\"running\"}");
        WAIT_FOR(f, seen.most >= 100);
        during = call_end(
                f, call_start_at(f, job, "org.freedesktop.DBus.Properties", "GetAll", g_variant_new("(s)", JOB)),
                &error);
        g_assert_no_error(error);
        all = g_variant_get_child_value(during, 0);
        g_assert_cmpstr(get_string(all, "State"), ==, "running");
        assert_rate(all, start, started);

        details = job_wait(f, job, "done");
        g_assert_cmpuint(get_number(details, "EntriesDone"), ==, 300);
        WAIT_FOR(f, seen.removed == 1 && seen.most == 300);
        /* Eleven signals of the worker in a second. */
        g_assert_cmpuint(seen.changed, >=, 3);
        g_assert_cmpuint(seen.changed, <=, (guint64) (g_get_monotonic_time() - start) / 250000 + 2);
        g_assert_cmpstr(seen.result, ==, "done");
        g_assert_cmpuint(seen.new, ==, 1);
        g_assert_cmpuint(seen.added, ==, 1);
        g_assert_cmpuint(seen.forgotten, ==, 0);
        g_assert_cmpuint(seen.partial, >=, 1);
        ended = get_text(f, job, JOB, "State");
        g_assert_cmpstr(ended, ==, "ended");
        reply = call(f, "GetJob", g_variant_new("(t)", (guint64) 2), &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(o)", &found);
        g_assert_cmpstr(found, ==, job);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_free(seen.result);
}

/* Canceled: at once, with the worker's child gone, and what was known is no longer. A second call finishes it. */
static void test_cancel(Fixture *f, gconstpointer data) {
        const char *source = data;
        g_autofree char *job = NULL, *result = NULL, *text = NULL, *name = NULL;
        g_autoptr(GVariant) canceled = NULL, again = NULL, details = NULL;
        GAsyncResult *waiting;
        GError *error = NULL;

        mount_always(f, "v", source, T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        waiting = call_start_at(f, job, JOB, "Wait", NULL);
        run_for(150);
        canceled = call_end(f, call_start_at(f, job, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
        g_assert_cmpuint(worker_count_children(f), ==, 1);
        details = call_end(f, waiting, &error);
        g_assert_no_error(error);
        result = get_text(f, job, JOB, "Result");
        g_assert_cmpstr(result, ==, "Canceled");
        text = get_text(f, job, JOB, "ErrorMessage");
        g_assert_nonnull(strstr(text, "canceled"));
        name = get_text(f, job, JOB, "ErrorName");
        g_assert_cmpstr(name, ==, "Canceled");
        assert_label(f, "partial", CONTEXT_A);
        again = call_end(f, call_start_at(f, job, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
        assert_metric(f, "selvol_relabels_total{outcome=\"failed\",reason=\"unknown\"} 1\n");
        assert_metric(f, "selvol_jobs 0\n");
}

static void test_entries_failed(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *text = NULL, *failed = NULL;
        g_autoptr(GVariant) details = NULL, failures = NULL;
        GError *error = NULL;

        mount_always(f, "v", "/dev/walk-fails", T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, job, "EntriesFailed");
        text = g_strdup(get_string(details, "ErrorMessage"));
        g_assert_nonnull(strstr(text, "20 of 300"));
        g_assert_nonnull(strstr(text, "dir/file-0\\x0a, dir/file-1\\x0a"));
        g_assert_nonnull(strstr(text, "only what is missing is done"));
        failures = g_variant_lookup_value(details, "Failures", G_VARIANT_TYPE("a(ss)"));
        g_assert_cmpuint(g_variant_n_children(failures), ==, 16);
        failed = get_text(f, job, JOB, "EntriesFailed");
        g_assert_cmpstr(failed, ==, "20");
        assert_label(f, "partial", CONTEXT_A);
        assert_metric(f, "selvol_relabel_entries_total{result=\"failed\"} 20\n");
}

/* What the worker says is checked, whatever it is that speaks there. */
static void test_hostile_worker(Fixture *f, gconstpointer data) {
        const char *source = data;
        gboolean dies = g_str_has_suffix(source, "die");
        g_autofree char *job = NULL, *state = NULL;
        g_autoptr(GVariant) details = NULL;
        GError *error = NULL;

        mount_always(f, "v", source, T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, job, "WorkerFailed");
        g_assert_nonnull(strstr(get_string(details, "ErrorMessage"), dies ? "journalctl" : "same version"));
        state = get_volume_text(f, "v", "LabelState");
        g_assert_cmpstr(state, !=, "complete");
}

/* A walk that gets no further is given up; one that gets on has its time anew. */
static void test_no_progress(Fixture *f, gconstpointer data) {
        g_autofree char *hung = NULL, *slow = NULL, *limited = NULL;
        g_autoptr(GVariant) one = NULL, two = NULL, three = NULL;
        GError *error = NULL;

        daemon_stop(f, SIGTERM);
        write_file(f, "etc/selvol.conf.d/time.conf", "[Service]\nJobTimeoutSec=1\n");
        daemon_start(f, CALLER_ROOT);
        mount_always(f, "v", "/dev/walk-hang", T1);
        hung = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        one = job_wait(f, hung, "TimedOut");
        assert_label(f, "partial", CONTEXT_A);
        mount_always(f, "w", "/dev/walk-slow", T2);
        slow = call_relabel(f, "w", "", NULL, &error);
        g_assert_no_error(error);
        two = job_wait(f, slow, "done");
        limited = call_relabel(f, "w", "", "{'Force': <true>, 'TimeoutUSec': <@t 300000>}", &error);
        g_assert_no_error(error);
        three = job_wait(f, limited, "TimedOut");
}

/* Killed in the middle of a walk: partial on disk, and the next call goes over all files. */
static void test_killed(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL, *again = NULL;
        g_autoptr(GVariant) details = NULL, plan = NULL, planned = NULL;
        GError *error = NULL;

        make_free(f, "v", "/dev/walk-hang");
        job = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        run_for(100);
        daemon_stop(f, SIGKILL);
        daemon_start(f, CALLER_ROOT);
        assert_label(f, "partial", CONTEXT_A);
        assert_mark(f, "mark-walk-hang", "label=partial");
        g_assert_null(call_end(f, call_start_at(f, job, JOB, "Wait", NULL), &error));
        g_clear_error(&error);
        plan = call(f, "PlanVolume", mount_arguments("v", "/dev/walk-hang", T1, SERVICE_A), &error);
        g_assert_no_error(error);
        planned = g_variant_get_child_value(plan, 0);
        g_assert_cmpstr(get_string(planned, "RelabelReason"), ==, "partial");
        again = call_relabel(f, "v", CONTEXT_A, "{'TimeoutUSec': <@t 200000>}", &error);
        g_assert_no_error(error);
        details = job_wait(f, again, "TimedOut");
        g_assert_cmpstr(get_string(details, "RelabelReason"), ==, "partial");
}

/* Results are kept, but not without end. */
static void test_expiry(Fixture *f, gconstpointer data) {
        g_autofree char *first = NULL, *second = NULL;
        g_autoptr(GVariant) details = NULL, reply = NULL;
        GError *error = NULL;
        Seen seen = { 0 };
        guint subscription;

        make_free(f, "v", "/dev/vdb");
        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", NULL, NULL, NULL, NULL,
                                                          G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        first = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        g_assert_no_error(error);
        details = job_wait(f, first, "done");
        second = call_relabel(f, "v", CONTEXT_A, NULL, &error);
        for (size_t i = 0; i < 62; i++)
                g_free(call_relabel(f, "v", CONTEXT_A, NULL, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(seen.forgotten, ==, 0);
        g_free(call_relabel(f, "v", CONTEXT_A, NULL, &error));
        WAIT_FOR(f, seen.forgotten == 1);
        g_assert_null(call_end(f, call_start_at(f, first, JOB, "Wait", NULL), &error));
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.UnknownObject", "");
        g_assert_null(call(f, "GetJob", g_variant_new("(t)", (guint64) 3), &error));
        assert_error(g_steal_pointer(&error), "NoSuchJob", "no longer kept");
        reply = job_wait(f, second, "done");
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_free(seen.result);
}

static void test_wait_limit(Fixture *f, gconstpointer data) {
        g_autofree char *job = NULL;
        GAsyncResult *calls[WAITERS_MAX + WAITERS_RESERVED + 16];
        g_autoptr(GVariant) canceled = NULL;
        size_t n_refused = 0;
        GError *error = NULL;

        mount_always(f, "v", "/dev/walk-hang", T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = call_start_at(f, job, JOB, "Wait", NULL);
        /* Who can't wait can still have it ended. */
        canceled = call_end(f, call_start_at(f, job, JOB, "Cancel", NULL), &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autoptr(GVariant) reply = call_end(f, calls[i], &error);

                if (!reply) {
                        assert_error(g_steal_pointer(&error), "LimitReached", "wait for this");
                        n_refused++;
                }
        }
        g_assert_cmpuint(n_refused, ==, 16);
}

/* The service ends: who waits is told, and so are the journal and the history; what is on disk says partial. */
static void test_end_of_service(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL, history = NULL, entries = NULL, last = NULL;
        g_autofree char *job = NULL, *log = NULL;
        GAsyncResult *waiting;
        GError *error = NULL;
        const char *result;

        daemon_stop(f, SIGTERM);
        f->logged = TRUE;
        daemon_start(f, CALLER_ROOT);
        mount_always(f, "v", "/dev/walk-crawl", T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        waiting = call_start_at(f, job, JOB, "Wait", NULL);
        run_for(100);
        daemon_stop(f, SIGTERM);
        reply = call_end(f, waiting, &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(&s@a{sv})", &result, NULL);
        g_assert_cmpstr(result, ==, "Canceled");
        log = read_file(f, "log");
        g_assert_nonnull(strstr(log, "Canceled the request to relabel volume v with s0:c0,c10: selvold is stopping"));
        daemon_start(f, CALLER_ROOT);
        assert_label(f, "partial", CONTEXT_A);
        history = call_end(f, call_start_at(f, "/org/selvol1/volume/v", "org.selvol1.Volume", "GetHistory", NULL),
                           &error);
        g_assert_no_error(error);
        entries = g_variant_get_child_value(history, 0);
        last = g_variant_get_child_value(entries, g_variant_n_children(entries) - 1);
        g_assert_cmpstr(get_string(last, "Operation"), ==, "relabel");
        g_assert_cmpstr(get_string(last, "Result"), ==, "Canceled");
}

static void test_introspection(Fixture *f, gconstpointer data) {
        g_autofree char *xml = NULL, *job = NULL;
        g_autoptr(GVariant) reply = NULL, managed = NULL, objects = NULL;
        g_autoptr(GDBusNodeInfo) written = NULL, answered = NULL;
        g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
        GError *error = NULL;
        const char *text;

        mount_always(f, "v", "/dev/vdb", T1);
        job = call_relabel(f, "v", "", NULL, &error);
        g_assert_no_error(error);
        g_assert_true(g_file_get_contents(SOURCE_ROOT "/dbus/org.selvol1.Job.xml", &xml, NULL, NULL));
        written = g_dbus_node_info_new_for_xml(xml, &error);
        g_assert_no_error(error);
        reply = call_end(f, call_start_at(f, job, "org.freedesktop.DBus.Introspectable", "Introspect", NULL), &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(&s)", &text);
        answered = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        g_dbus_interface_info_generate_xml(g_dbus_node_info_lookup_interface(written, JOB), 0, a);
        g_dbus_interface_info_generate_xml(g_dbus_node_info_lookup_interface(answered, JOB), 0, b);
        g_assert_cmpstr(a->str, ==, b->str);

        managed = call_end(
                f, call_start_at(f, "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL),
                &error);
        g_assert_no_error(error);
        objects = g_variant_get_child_value(managed, 0);
        g_assert_cmpuint(g_variant_n_children(objects), ==, 2);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/job/" name, Fixture, data, set_up, function, tear_down)
        ADD("held", NULL, test_held);
        ADD("held-by-runtime", NULL, test_held_by_runtime);
        ADD("links", NULL, test_links);
        ADD("free", NULL, test_free);
        ADD("free-part", NULL, test_free_part);
        ADD("one-device", NULL, test_one_device);
        ADD("join-forced", NULL, test_join_forced);
        ADD("recorded-context", NULL, test_recorded_context);
        ADD("not-durable", NULL, test_not_durable);
        for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
                g_autofree char *path = g_strdup_printf("/job/refused/%s", refusals[i].name);

                g_test_add(path, Fixture, GSIZE_TO_POINTER(i), set_up, test_refused, tear_down);
        }
        ADD("bad-input", NULL, test_bad_input);
        ADD("slow", NULL, test_slow);
        ADD("cancel/crawl", "/dev/walk-crawl", test_cancel);
        ADD("cancel/hang", "/dev/walk-hang", test_cancel);
        ADD("entries-failed", NULL, test_entries_failed);
        ADD("hostile/progress", "/dev/walk-nonsense", test_hostile_worker);
        ADD("hostile/backwards", "/dev/walk-back", test_hostile_worker);
        ADD("hostile/text", "/dev/walk-rubbish", test_hostile_worker);
        ADD("hostile/dies", "/dev/walk-die", test_hostile_worker);
        ADD("no-progress", NULL, test_no_progress);
        ADD("killed", NULL, test_killed);
        ADD("expiry", NULL, test_expiry);
        ADD("wait-limit", NULL, test_wait_limit);
        ADD("end-of-service", NULL, test_end_of_service);
        ADD("introspection", NULL, test_introspection);
        return g_test_run();
}

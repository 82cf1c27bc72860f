/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Callers watch jobs of Relabel on the bus; selvold forgets old jobs, and limits callers. calls/job has the
 * other cases. */

#include "model/limits.h"
#include "support.h"

#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c10"
#define ALWAYS_A  "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>}"
#define JOB       "org.selvol1.Job"

typedef struct Seen {
        guint new, removed, added, forgotten, changed;
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
        }
}

static GVariant *get_properties(Fixture *f, const char *job) {
        g_autoptr(GVariant) reply = expect_reply(
                f, call_start_at(f, job, "org.freedesktop.DBus.Properties", "GetAll", g_variant_new("(s)", JOB)));

        return g_variant_get_child_value(reply, 0);
}

static gboolean has_rate_at_most(Fixture *f, const char *job, guint64 most) {
        g_autoptr(GVariant) all = get_properties(f, job);

        return get_number(all, "EntriesPerSecond") <= most;
}

/* job has the properties of one moment after start. */
static void assert_rate(GVariant *job, gint64 start, guint64 started) {
        const guint64 total = 300, rate = get_number(job, "EntriesPerSecond");

        g_assert_cmpuint(get_number(job, "EntriesDone"), ==, 10);
        g_assert_cmpuint(get_number(job, "EntriesTotal"), ==, total);
        g_assert_cmpuint(rate, >=, 10 * G_USEC_PER_SEC / (guint64) (g_get_monotonic_time() - start));
        /* The rate and the expected end are about the time since the walk began. */
        g_assert_cmpuint(get_number(job, "ExpectedEndUSec"), >=, started + total * G_USEC_PER_SEC / (rate + 1));
        g_assert_cmpuint(get_number(job, "ExpectedEndUSec"), <=,
                         (guint64) g_get_real_time() + total * G_USEC_PER_SEC / rate);
}

/* Calls join a job. Signals tell all clients, and not too often. */
TEST_FIXTURE(test_slow, "/job/slow") {
        g_autofree char *job = NULL, *joined = NULL;
        g_autoptr(GVariant) details = NULL, all = NULL;
        Seen seen = { 0 };
        guint subscription;
        guint64 started;
        gint64 start;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", NULL, NULL, NULL, NULL,
                                                          G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        mount_volume(f, "v", "/dev/walk-held", T1, ALWAYS_A);
        g_assert_cmpuint(seen.new, ==, 0);
        start = g_get_monotonic_time();
        started = (guint64) g_get_real_time();
        job = start_relabel(f, "v", CONTEXT_A);
        joined = start_relabel(f, "v", "");
        g_assert_cmpstr(job, ==, joined);
        assert_metric(f, "selvol_jobs_walking 1\n");
        g_assert_cmpfloat(read_metric(f, "selvol_oldest_job_age_seconds{state=\"walking\"}"), >, 0);
        assert_metrics_zero(f, "selvol_oldest_job_age_seconds{state=\"running\"}");
        WAIT_FOR(seen.most == 10);
        WAIT_FOR(has_rate_at_most(f, job, 12));
        all = get_properties(f, job);
        g_assert_cmpstr(get_string(all, "State"), ==, "running");
        assert_rate(all, start, started);

        write_file(f, "go", "");
        details = job_wait(f, job, "done");
        g_assert_cmpuint(get_number(details, "EntriesDone"), ==, 300);
        WAIT_FOR(seen.removed == 1 && seen.most == 300);
        /* The worker sends fifty signals in a second. */
        g_assert_cmpuint(seen.changed, >=, 3);
        g_assert_cmpuint(seen.changed, <=, (guint64) (g_get_monotonic_time() - start) / 250000 + 2);
        g_assert_cmpstr(seen.result, ==, "done");
        g_assert_cmpuint(seen.new, ==, 1);
        g_assert_cmpuint(seen.added, ==, 1);
        g_assert_cmpuint(seen.forgotten, ==, 0);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_free(seen.result);
}

/* selvold keeps only so many results. */
TEST_FIXTURE(test_expiry, "/job/expiry") {
        g_autofree char *first = NULL, *second = NULL;
        g_autoptr(GVariant) details = NULL, reply = NULL;
        Seen seen = { 0 };
        guint subscription;

        mount_volume(f, "v", "/dev/vdb", T1, ALWAYS_A);
        unmount_volume(f, "v", T1);
        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", NULL, NULL, NULL, NULL,
                                                          G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        first = start_relabel(f, "v", CONTEXT_A);
        details = job_wait(f, first, "done");
        second = start_relabel(f, "v", CONTEXT_A);
        for (size_t i = 0; i < 62; i++)
                g_free(start_relabel(f, "v", CONTEXT_A));
        g_assert_cmpuint(seen.forgotten, ==, 0);
        g_free(start_relabel(f, "v", CONTEXT_A));
        WAIT_FOR(seen.forgotten == 1);
        expect_error(f, call_start_at(f, first, JOB, "Wait", NULL), "org.freedesktop.DBus.Error.UnknownObject", "");
        expect_error(f, call_start(f, "GetJob", g_variant_new("(t)", (guint64) 3)), "NoSuchJob", "no longer kept");
        reply = job_wait(f, second, "done");
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_free(seen.result);
}

TEST_FIXTURE(test_wait_limit, "/job/wait-limit") {
        g_autofree char *job = NULL;
        GAsyncResult *calls[WAITERS_MAX + 16];
        g_autoptr(GVariant) canceled = NULL;

        mount_volume(f, "v", "/dev/walk-hang", T1, ALWAYS_A);
        job = start_relabel(f, "v", "");
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = call_start_at(f, job, JOB, "Wait", NULL);
        /* A caller that can't wait can still cancel the job. */
        canceled = expect_reply(f, call_start_at(f, job, JOB, "Cancel", NULL));
        g_assert_cmpuint(count_refused(f, calls, G_N_ELEMENTS(calls), "wait for this", NULL), ==, 16);
}

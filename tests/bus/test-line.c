/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Many jobs want the same volume, target or device: no job waits for ever, and signals tell of each job.
 * calls/line has the cases with few jobs. */

#include <signal.h>

#include "model/limits.h"
#include "support.h"

#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c10"
#define LEVEL_A   "'SELinuxLevel': <'s0:c0,c10'>"
#define LEVEL_B   "'SELinuxLevel': <'s0:c20,c30'>"
#define LEVEL_C   "'SELinuxLevel': <'s0:c40,c50'>"
#define POD_A     "{" LEVEL_A ", " OVM "}"
#define SERVICE_A "{" LEVEL_A ", 'RelabelBy': <'service'>}"
#define LONG      "'TimeoutUSec': <@t 600000000>"
#define JOB       "org.selvol1.Job"

enum { MANY = 200, CROWD = 4 };

#ifdef __SANITIZE_ADDRESS__
enum { RANDOM_OPERATIONS = 2500 };
#else
enum { RANDOM_OPERATIONS = 10000 };
#endif

static char *target_of(gsize i) {
        return g_strdup_printf("/var/lib/kubelet/pods/%zu/volumes/v", i);
}

static guint count_ended(GAsyncResult *const *calls, guint first, guint step) {
        guint n = 0;

        for (guint i = first; i < MANY; i += step)
                n += call_has_ended(calls[i]);
        return n;
}

/* 200 mounts of one volume at once give one superblock and 200 holders, and the metrics count all. */
TEST_FIXTURE(test_many, "/line/many") {
        g_autofree char *device = NULL;
        GAsyncResult *calls[MANY];
        Fixture crowd[CROWD];
        guint n_shared = 0;

        open_callers(f, crowd, CROWD);
        for (guint i = 0; i < MANY; i++) {
                g_autofree char *target = target_of(i),
                                *options =
                                        g_strdup_printf("{" LEVEL_A ", " OVM ", 'Holder': <'pod-%u'>, " LONG "}", i);

                calls[i] = start_mount(&crowd[i % CROWD], "v", "/dev/vdb", target, options);
        }
        for (guint i = 0; i < MANY; i++) {
                g_autoptr(GVariant) reply = expect_reply(&crowd[i % CROWD], calls[i]),
                                    result = g_variant_get_child_value(reply, 2);

                if (!device)
                        device = g_strdup(get_string(result, "Device"));
                g_assert_cmpstr(get_string(result, "Device"), ==, device);
                n_shared += g_variant_lookup(result, "Shared", "b", NULL);
        }
        g_assert_cmpuint(n_shared, ==, MANY - 1);
        g_assert_cmpuint(count_mounts(f), ==, MANY);
        g_assert_cmpuint(count_holders(f, "v"), ==, MANY);
        assert_metric(f, "selvol_holders 200\n");
        assert_metric(f, "selvol_decisions_total{strategy=\"context-mount\",reason=\"context-mount\"} 1\n");
        assert_metric(f, "selvol_decisions_total{strategy=\"context-mount\",reason=\"context-shared\"} 199\n");
        assert_metric(
                f,
                "selvol_volume_manager_selinux_volumes_admitted_total{volume_plugin=\"kubernetes.io/csi\",access_mode=\"inline\"} 1\n");

        for (guint i = 0; i < MANY; i++) {
                g_autofree char *target = target_of(i);

                calls[i] = call_start(&crowd[i % CROWD], "UnmountVolume",
                                      g_variant_new_parsed("(%s, %s, {" LONG "})", i % 2 ? "v" : "", target));
        }
        for (guint i = 0; i < MANY; i++)
                end_unmount(&crowd[i % CROWD], calls[i], TRUE);
        g_assert_cmpuint(count_mounts(f), ==, 0);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        assert_metric(f, "selvol_holders 0\n");
        assert_metric(f, "selvol_holders_lost_total 0\n");
        assert_metric(f, "selvol_store_errors_total 0\n");
        assert_metric(f, "selvol_jobs 0\n");
        assert_metrics_zero(f, "selvol_refusals_total{");
        close_callers(crowd, CROWD);
}

/* Returns whether a random operation succeeded, and counts mounts. The test fails on an error that can't
 * be. */
static gboolean check_random_answer(Fixture *f, GAsyncResult *pending, guint *n_mounted) {
        static const char *const allowed[] = { "InvalidTarget",  "Incompatible", "ContextConflict", "NotSupported",
                                               "InvalidContext", "NoSuchVolume", "Canceled" };
        g_autofree char *name = NULL;
        g_autoptr(GVariant) reply = NULL;
        g_autoptr(GError) error = NULL;

        reply = call_end(f, pending, &error);
        if (reply) {
                *n_mounted += g_variant_is_of_type(reply, G_VARIANT_TYPE("(ssa{sv})"));
                return TRUE;
        }
        name = g_dbus_error_get_remote_error(error);
        for (gsize i = 0; i < G_N_ELEMENTS(allowed); i++)
                if (name && g_str_has_prefix(name, "org.selvol1.Error.") && g_str_has_suffix(name, allowed[i]))
                        return FALSE;
        g_test_message("%s", error->message);
        g_assert_not_reached();
}

static GAsyncResult *start_random(Fixture *f) {
        static const char *const levels[] = { LEVEL_A, LEVEL_B };
        static const char *const relabeled_by[] = { "runtime", "service" };
        int n = g_test_rand_int_range(0, 5), what = g_test_rand_int_range(0, 100);
        g_autofree char *volume = g_strdup_printf("v%d", n), *source = g_strdup_printf("/dev/%d/disk%d", n, n % 3),
                        *target = target_of((gsize) g_test_rand_int_range(0, 5)), *options = NULL;

        if (what < 40) {
                options = g_strdup_printf("{%s, 'RelabelBy': <'%s'>, " LONG "%s}", levels[what % 2],
                                          relabeled_by[what / 2 % 2], what % 3 ? "" : ", " OVM);
                return start_mount(f, volume, source, target, options);
        }
        if (what < 60)
                return call_start(f, "UnmountVolume",
                                  g_variant_new_parsed("(%s, %s, {" LONG "})", what % 3 ? volume : "", target));
        return call_start(f, "Relabel",
                          g_variant_new_parsed("(%s, %s, {" LONG ", 'Force': <%b>})", volume, CONTEXT_A, what % 2));
}

/* Every holder has its mount, and every mount its holder. */
static void assert_consistent(Fixture *f) {
        g_autofree char *table = mount_table(f);
        gsize n = 0;

        for (int v = 0; v < 5; v++) {
                g_autofree char *element = g_strdup_printf("v%d", v),
                                *source = g_strdup_printf("/dev/%d/disk%d", v, v % 3);
                g_autoptr(GVariant) holders = get_holders(f, element);

                for (gsize i = 0; i < g_variant_n_children(holders); i++, n++) {
                        g_autoptr(GVariant) holder = g_variant_get_child_value(holders, i);
                        g_autofree char *line = g_strdup_printf(" %s %s ", get_string(holder, "Target"), source);

                        g_assert_cmpstr(get_string(holder, "State"), ==, "mounted");
                        g_assert_nonnull(strstr(table, line));
                }
        }
        g_assert_cmpuint(n, ==, count_mounts(f));
}

static gboolean jobs_have_ended(Fixture *f) {
        return read_metric(f, "selvol_jobs") == 0;
}

/* 60 operations at a time, over 5 volumes, 5 targets and 3 devices, all end, and record and mount table then
 * agree. */
TEST_FIXTURE(test_random, "/line/random") {
        GAsyncResult *calls[CROWD * 15] = { NULL };
        gint64 start = g_get_monotonic_time();
        Fixture crowd[CROWD];
        guint n_succeeded = 0, n_mounted = 0;

        open_callers(f, crowd, CROWD);
        /* selvold then knows the volumes, whatever operation comes first. */
        for (int v = 0; v < 5; v++) {
                g_autofree char *volume = g_strdup_printf("v%d", v),
                                *source = g_strdup_printf("/dev/%d/disk%d", v, v % 3);

                mount_volume(f, volume, source, T1, "{}");
                unmount_volume(f, volume, T1);
        }
        for (guint i = 0; i < RANDOM_OPERATIONS; i++) {
                GAsyncResult **slot = &calls[i % G_N_ELEMENTS(calls)];

                if (*slot)
                        n_succeeded += check_random_answer(&crowd[i % CROWD], *slot, &n_mounted);
                *slot = start_random(&crowd[i % CROWD]);
        }
        for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
                n_succeeded += check_random_answer(&crowd[i % CROWD], calls[i], &n_mounted);
        close_callers(crowd, CROWD);
        WAIT_FOR(jobs_have_ended(f));
        g_assert_cmpuint(n_succeeded, >, RANDOM_OPERATIONS / 5);
        g_assert_cmpuint(n_mounted, >, RANDOM_OPERATIONS / 50);
        g_test_message("%d operations in %.1f s, %u succeeded, %u of them mounts", RANDOM_OPERATIONS,
                       (double) (g_get_monotonic_time() - start) / G_USEC_PER_SEC, n_succeeded, n_mounted);
        WAIT_FOR(worker_count_children(f) == 1);
        assert_consistent(f);
        assert_metric(f, "selvol_holders_lost_total 0\n");
        daemon_stop(f, SIGKILL);
        daemon_start(f);
        assert_consistent(f);
        assert_metric(f, "selvol_holders_lost_total 0\n");
}

/* Many jobs wait until a holder goes, and need only memory meanwhile. */
TEST_FIXTURE(test_wait_for_context, "/line/wait/context") {
        GAsyncResult *calls[MANY];
        Fixture crowd[CROWD];

        open_callers(f, crowd, CROWD);
        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        for (guint i = 0; i < MANY; i++) {
                g_autofree char *target = target_of(i),
                                *options = g_strdup_printf(
                                        "{%s, " OVM ", 'WaitUSec': <@t 600000000>, 'TimeoutUSec': <@t 600000000>}",
                                        i % 2 ? LEVEL_C : LEVEL_B);

                calls[i] = start_mount(&crowd[i % CROWD], "v", "/dev/vdb", target, options);
        }
        worker_wait_idle(f, 500);
        g_assert_cmpuint(count_mounts(f), ==, 1);
        mount_volume(f, "w", "/dev/vdc", T2, POD_A);
        g_assert_cmpuint(count_ended(calls, 0, 1), ==, 0);

        /* The first mount goes on, with all that want the same context; when these have gone, so do the
         * others. */
        unmount_volume(f, "v", T1);
        for (guint first = 0; first < 2; first++) {
                WAIT_FOR(count_ended(calls, first, 2) == MANY / 2);
                worker_wait_idle(f, 200);
                g_assert_cmpuint(count_ended(calls, 1 - first, 2), ==, first == 0 ? 0 : MANY / 2);
                g_assert_cmpuint(count_mounts(f), ==, MANY / 2 + 1);
                for (guint i = first; i < MANY; i += 2) {
                        g_autofree char *target = target_of(i);

                        unmount_volume(f, "v", target);
                }
        }
        for (guint i = 0; i < MANY; i++)
                g_variant_unref(expect_reply(&crowd[i % CROWD], calls[i]));
        assert_metrics_zero(f, "selvol_refusals_total{");
        close_callers(crowd, CROWD);
}

/* A caller that wants no answer may leave before its job runs. */
TEST_FIXTURE(test_no_reply, "/line/give-up/no-reply") {
        Fixture other = other_caller(f);
        GAsyncResult *front;

        front = start_mount(f, "v", "/dev/walk-held", T1, SERVICE_A);
        wait_for_job(f, 1, "running");
        send_mount(&other, "v", "/dev/walk-held", T2, SERVICE_A);
        wait_for_job(f, 2, "waiting");
        leave(&other, f);
        write_file(f, "go", "");
        g_variant_unref(expect_reply(f, front));
        WAIT_FOR(is_mounted(f, T2));
}

/* PlanVolume waits only while too many jobs are running. Its answer has everything, so selvold does not keep
 * its job. */
TEST_FIXTURE(test_planned, "/line/result/planned") {
        GAsyncResult *mounts[JOBS_MAX], *plan;
        g_autoptr(GVariant) reply = NULL;
        Fixture crowd[CROWD];

        open_callers(f, crowd, CROWD);
        for (guint i = 0; i < JOBS_MAX; i++) {
                g_autofree char *volume = g_strdup_printf("v%u", i),
                                *source = g_strdup_printf("/dev/%u/hang-observe", i), *target = target_of(i);

                mounts[i] = start_mount(&crowd[i % CROWD], volume, source, target, "{" LONG "}");
        }
        /* Calls of several connections come in any order, and the test needs the number of the job. */
        WAIT_FOR(worker_count_children(f) == JOBS_MAX + 1);
        plan = call_start(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T1, POD_A));
        wait_for_job(f, JOBS_MAX + 1, "waiting");
        g_assert_false(call_has_ended(plan));
        for (guint i = 0; i < JOBS_MAX; i++) {
                g_autofree char *target = target_of(i);

                end_unmount(f, start_unmount(f, "", target), FALSE);
                expect_error(&crowd[i % CROWD], mounts[i], "Canceled", "canceled by an unmount");
                if (i > 0)
                        continue;
                reply = expect_reply(f, plan);
        }
        WAIT_FOR(worker_count_children(f) == 1);
        close_callers(crowd, CROWD);
}

typedef struct Frozen {
        const char *bus_sec; /* the default time-out of sd-bus; NULL: 25 seconds */
        guint seconds;       /* the disk stalls so long */
} Frozen;

static const Frozen frozen_short = { "2", 3 }, frozen_long = { NULL, 60 };

static void set_up_frozen(Fixture *f, gconstpointer data) {
        f->bus_sec = ((const Frozen *) data)->bus_sec;
        f->freezable = TRUE;
        fixture_start(f, CALLER_ROOT, FALSE);
}

/* Calls between selvold and the worker do not end by the default time-out of sd-bus: after a stall of the
 * disk they go on. */
static void test_frozen(Fixture *f, gconstpointer data) {
        guint seconds = ((const Frozen *) data)->seconds;
        GAsyncResult *pending;

        store_freeze(f, "");
        pending = start_mount(f, "v", "/dev/vdb", T1, "{" LEVEL_A ", " OVM ", " LONG "}");
        pause_usec((gint64) seconds * G_USEC_PER_SEC);
        g_assert_false(call_has_ended(pending));
        g_assert_cmpuint(count_mounts(f), ==, 0);
        g_assert_cmpuint(worker_count_children(f), ==, 2);
        store_thaw(f);
        g_variant_unref(expect_reply(f, pending));
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        g_assert_true(is_mounted(f, T1));
}

/* Signals have told of these objects of jobs. */
typedef struct Objects {
        GHashTable *added, *removed;
} Objects;

static void on_object(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                      const char *name, GVariant *parameters, gpointer userdata) {
        g_autoptr(GVariant) first = g_variant_get_child_value(parameters, 0);
        const char *object = g_variant_get_string(first, NULL);
        Objects *o = userdata;

        if (!g_str_has_prefix(object, "/org/selvol1/job/"))
                return;
        if (g_str_equal(name, "InterfacesAdded"))
                g_assert_true(g_hash_table_add(o->added, g_strdup(object)));
        else
                g_assert_true(g_hash_table_add(o->removed, g_strdup(object)));
}

static guint count_told(const Objects *o) {
        return g_hash_table_size(o->added) + g_hash_table_size(o->removed);
}

/* Returns a list of objects without a signal meanwhile: a signal right behind the reply may arrive before
 * call_end() returns. */
static GVariant *list_objects(Fixture *f, const Objects *o) {
        GVariant *reply = NULL;
        guint told;

        do {
                g_clear_pointer(&reply, g_variant_unref);
                told = count_told(o);
                reply = expect_reply(f, call_start_at(f, "/org/selvol1", "org.freedesktop.DBus.ObjectManager",
                                                      "GetManagedObjects", NULL));
        } while (count_told(o) != told);
        return reply;
}

/* Returns how many jobs are listed, and asserts that signals have told of the same jobs. */
static gsize check_listed(Fixture *f, const Objects *o) {
        g_autoptr(GVariant) reply = list_objects(f, o), objects = NULL;
        GVariantIter iterator;
        const char *path;
        gsize n = 0;

        objects = g_variant_get_child_value(reply, 0);
        g_variant_iter_init(&iterator, objects);
        while (g_variant_iter_loop(&iterator, "{&o@a{sa{sv}}}", &path, NULL)) {
                if (!g_str_has_prefix(path, "/org/selvol1/job/"))
                        continue;
                g_assert_true(g_hash_table_contains(o->added, path));
                g_assert_false(g_hash_table_contains(o->removed, path));
                n++;
        }
        g_assert_cmpuint(g_hash_table_size(o->added) - g_hash_table_size(o->removed), ==, n);
        return n;
}

/* GetManagedObjects and its signals tell the same about jobs that come, wait, walk, end, and are
 * forgotten. */
TEST_FIXTURE(test_objects, "/line/objects") {
        g_autoptr(GHashTable) added = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                              removed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        Objects o = { .added = added, .removed = removed };
        GAsyncResult *walking, *waiting, *quick;
        guint subscription;

        subscription =
                g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.freedesktop.DBus.ObjectManager",
                                                   NULL, NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE, on_object, &o, NULL);
        quick = start_mount(f, "w", "/dev/vdb", T3, POD_A);
        walking = start_mount(f, "v", "/dev/walk-held", T1, SERVICE_A);
        waiting = start_mount(f, "v", "/dev/walk-held", T2, SERVICE_A);
        for (gboolean done = FALSE; !done;) {
                g_autofree char *job = NULL;

                if (g_hash_table_size(added) == 2)
                        write_file(f, "go", "");
                done = call_has_ended(waiting) && call_has_ended(quick);
                (void) check_listed(f, &o);
                job = get_volume_text(f, "v", "Job");
                pause_usec(10000);
                if (job && !g_str_equal(job, "/"))
                        g_assert_true(g_hash_table_contains(added, job));
        }
        g_variant_unref(expect_reply(f, quick));
        g_variant_unref(expect_reply(f, walking));
        g_variant_unref(expect_reply(f, waiting));
        g_assert_cmpuint(g_hash_table_size(added), ==, 2);
        g_assert_cmpuint(check_listed(f, &o), ==, 2);

        for (guint i = 0; i < 70; i++) {
                g_autofree char *job = start_relabel(f, "v", "");

                g_assert_true(g_hash_table_contains(added, job));
        }
        /* selvold forgets the oldest job once the child of the newest has gone. */
        WAIT_FOR(check_listed(f, &o) == 64);
        g_assert_cmpuint(g_hash_table_size(removed), ==, 8);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

void add_tests(void) {
        g_test_add("/line/frozen/short", Fixture, &frozen_short, set_up_frozen, test_frozen, fixture_tear_down);
        if (g_test_slow())
                g_test_add("/line/frozen/long", Fixture, &frozen_long, set_up_frozen, test_frozen, fixture_tear_down);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A caller or a source that has reached its limit leaves room to all others. */

#include <signal.h>
#include <sys/resource.h>

#include "model/limits.h"
#include "support.h"
#include "support/records.h"

#define HANG     "{'TimeoutUSec': <@t 600000000>}"
#define HANG_NFS "{'TimeoutUSec': <@t 600000000>, 'FSType': <'nfs'>}"
#define HEALTHY  "/var/lib/kubelet/pods/healthy/volumes/v"

enum { CROWD = 4, FLOOD = 120 };

/* Without polkit nobody can allow a call. */
static void set_up_refused(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_OTHER, FALSE);
}

/* Mounts a volume of its own, and the mount hangs. */
static void send_hanging(Fixture *f, guint i, const char *source) {
        g_autofree char *volume = g_strdup_printf("hung-%u", i),
                        *target = g_strdup_printf("/var/lib/kubelet/pods/%u/volumes/v", i);

        send_mount(f, volume, source, target, source[0] == '/' ? HANG : HANG_NFS);
}

static void send_hanging_device(Fixture *f, guint i) {
        g_autofree char *source = g_strdup_printf("/dev/%u/hang-observe", i);

        send_hanging(f, i, source);
}

/* The mounts that hang have not ended meanwhile. */
static void assert_none_timed_out(Fixture *f) {
        assert_metric(f, "selvol_refusals_total{error=\"TimedOut\"} 0\n");
}

static void assert_mounts_at_once(Fixture *f, const char *volume, const char *source) {
        mount_volume(f, volume, source, HEALTHY, "{}");
        assert_none_timed_out(f);
}

static void assert_unmounts_at_once(Fixture *f, const char *volume) {
        unmount_volume(f, volume, HEALTHY);
        assert_none_timed_out(f);
}

/* Besides these jobs the watch has a child. */
static gboolean n_run(Fixture *f, gsize n) {
        return worker_count_children(f) == n + 1;
}

/* All volumes of a server hang: they take no more places than one source may have. */
static void test_source(Fixture *f, gconstpointer data) {
        const char *source = data;

        for (guint i = 0; i < JOBS_MAX + 6; i++)
                send_hanging(f, i, source);
        WAIT_FOR(n_run(f, JOBS_OF_SOURCE_MAX));
        assert_mounts_at_once(f, "v", "/dev/vdb");
        assert_unmounts_at_once(f, "v");
        WAIT_FOR(n_run(f, JOBS_OF_SOURCE_MAX));
}

static gsize count_orphans(Fixture *f) {
        g_autoptr(GDir) d = g_dir_open(f->directory, 0, NULL);
        const char *name;
        gsize n = 0;

        while ((name = g_dir_read_name(d)))
                n += g_str_has_prefix(name, "orphan-");
        return n;
}

static void send_plan(Fixture *f, const char *volume, const char *source, const char *target) {
        g_dbus_connection_call(f->client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", "PlanVolume",
                               g_variant_new("(sss@a{sv})", volume, source, target, g_variant_new_parsed(HANG_NFS)),
                               NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
}

/* Calls whose worker processes can't be ended. Mounted ones need a mount before. */
typedef enum StuckCall { STUCK_MOUNT, STUCK_PLAN, STUCK_RELABEL, STUCK_VERIFY, STUCK_UNMOUNT } StuckCall;

static const struct {
        const char *name;
        StuckCall call;
        const char *step; /* the last part of the source */
        const char *word; /* the method of the worker */
} stuck_rows[] = {
        { "mounts", STUCK_MOUNT, "stuck-observe", "Mount" },
        { "mounts-publishing", STUCK_MOUNT, "stuck-publishing", "Mount" },
        { "plans", STUCK_PLAN, "stuck-observe", "Plan" },
        { "relabels", STUCK_RELABEL, "stuck-walk", "Change" },
        { "verifies", STUCK_VERIFY, "stuck-walk", "Verify" },
        { "unmounts", STUCK_UNMOUNT, "stuck-unmount", "Unmount" },
};

#define SOON_NFS  "{'TimeoutUSec': <@t 1000000>, 'FSType': <'nfs'>}"
#define LEVEL_NFS "{'FSType': <'nfs'>, 'SELinuxLevel': <'s0:c1'>}"

static void send_stuck(Fixture *f, StuckCall call, guint i, const char *source) {
        g_autofree char *volume = g_strdup_printf("hung-%u", i),
                        *target = g_strdup_printf("/var/lib/kubelet/pods/%u/volumes/v", i);
        GVariant *arguments;
        const char *method;

        switch (call) {
        case STUCK_MOUNT:
                send_mount(f, volume, source, target, HANG_NFS);
                return;
        case STUCK_PLAN:
                send_plan(f, volume, source, target);
                return;
        case STUCK_RELABEL:
                method = "Relabel";
                arguments = g_variant_new("(ss@a{sv})", volume, "", g_variant_new_parsed("@a{sv} {}"));
                break;
        case STUCK_VERIFY:
                method = "VerifyLabel";
                arguments = g_variant_new("(ss@a{sv})", volume, "", g_variant_new_parsed("{'Depth': <'full'>}"));
                break;
        case STUCK_UNMOUNT:
        default:
                method = "UnmountVolume";
                arguments = g_variant_new("(ss@a{sv})", volume, target, g_variant_new_parsed("@a{sv} {}"));
                break;
        }
        mount_volume(f, volume, source, target, LEVEL_NFS);
        g_dbus_connection_call(f->client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", method, arguments,
                               NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
}

/* selvold is killed while its calls hang, and starts again. */
static void restart_stuck(Fixture *f, StuckCall call, guint first, const char *source, gsize n_before) {
        for (guint i = 0; i < JOBS_OF_SOURCE_MAX; i++)
                send_stuck(f, call, first + i, source);
        WAIT_FOR(count_orphans(f) == n_before + JOBS_OF_SOURCE_MAX);
        daemon_stop(f, SIGKILL);
        daemon_start(f);
}

/* The processes that an earlier selvold has left keep the places of their source, and leave the others. */
TEST_FIXTURE_ROWS(test_orphans, "/limits/orphans", stuck_rows) {
        const __typeof__(stuck_rows[0]) *row = data;
        g_autofree char *source = g_strdup_printf("server.example:/%s", row->step),
                        *text = g_strdup_printf(
                                "16 processes of the worker, from before selvold was restarted, still "
                                "wait for 'server.example' (%s of volume hung-",
                                row->word);
        GAsyncResult *unmount;

        if (row->call == STUCK_UNMOUNT)
                mount_volume(f, "w", source, "/var/lib/kubelet/pods/w/v", LEVEL_NFS);
        restart_stuck(f, row->call, 0, source, 0);
        assert_mounts_at_once(f, "v", "/dev/vdb");
        if (row->call == STUCK_UNMOUNT) {
                /* Mounts of the source have places of their own. */
                mount_volume(f, "u", "server.example:/healthy", "/var/lib/kubelet/pods/u/v", SOON_NFS);
                unmount = call_start(f, "UnmountVolume",
                                     g_variant_new("(ss@a{sv})", "w", "/var/lib/kubelet/pods/w/v",
                                                   g_variant_new_parsed("{'TimeoutUSec': <@t 1000000>}")));
                expect_error(f, unmount, "Busy", text);
        } else
                expect_error(f, start_mount(f, "u", "server.example:/healthy", "/var/lib/kubelet/pods/u/v", SOON_NFS),
                             "Busy", text);
        assert_unmounts_at_once(f, "v");
        g_assert_cmpuint(count_orphans(f), ==, JOBS_OF_SOURCE_MAX);

        write_file(f, "go", "");
        WAIT_FOR(count_orphans(f) == 0);
        mount_volume(f, "t", "server.example:/healthy", "/var/lib/kubelet/pods/t/v", HANG_NFS);
}

/* Those of several sources have all places: only unmounts have some of their own. */
TEST_FIXTURE(test_orphans_in_all, "/limits/orphans-in-all") {
        enum { SOURCES = JOBS_MAX / JOBS_OF_SOURCE_MAX };

        assert_mounts_at_once(f, "v", "/dev/vdb");
        for (guint i = 0; i < SOURCES; i++) {
                g_autofree char *source = g_strdup_printf("server-%u.example:/stuck-observe", i);

                restart_stuck(f, STUCK_MOUNT, i * JOBS_OF_SOURCE_MAX, source, i * JOBS_OF_SOURCE_MAX);
        }
        expect_error(
                f, start_mount(f, "w", "/dev/vdc", "/var/lib/kubelet/pods/w/v", "{'TimeoutUSec': <@t 1000000>}"),
                "Busy",
                "64 processes of the worker, from before selvold was restarted, still run (Mount of volume hung-");
        assert_unmounts_at_once(f, "v");
        write_file(f, "go", "");
        assert_mounts_at_once(f, "v", "/dev/vdb");
}

/* The volumes have only their caller in common. */
TEST_FIXTURE(test_caller, "/limits/caller") {
        Fixture other = other_caller(f);

        for (guint i = 0; i < JOBS_MAX + 6; i++)
                send_hanging_device(f, i);
        WAIT_FOR(n_run(f, JOBS_OF_CONNECTION_MAX));
        assert_mounts_at_once(&other, "v", "/dev/vdb");
        assert_unmounts_at_once(f, "v");
        WAIT_FOR(n_run(f, JOBS_OF_CONNECTION_MAX));
        close_caller(&other);
}

/* A plan that has waited is on the bus as long as it waits: it takes no place of jobs whose end callers ask
 * for. */
TEST_FIXTURE(test_plans, "/limits/plans") {
        g_autoptr(GVariant) objects = NULL;
        g_autofree char *text = NULL;

        for (guint i = 0; i < JOBS_OF_CONNECTION_MAX; i++)
                send_hanging_device(f, i);
        WAIT_FOR(n_run(f, JOBS_OF_CONNECTION_MAX));
        expect_error(f,
                     call_start(f, "PlanVolume",
                                g_variant_new_parsed("('v', '/dev/vdb', '" HEALTHY
                                                     "', {'TimeoutUSec': <uint64 1500000>})")),
                     "Busy", "Try again");
        objects = expect_reply(
                f, call_start_at(f, "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL));
        text = g_variant_print(objects, FALSE);
        g_assert_null(strstr(text, "'Operation': <'plan'>"));
}

/* Mounts have taken all places, and there are still places for unmounts. */
TEST_FIXTURE(test_unmount, "/limits/unmount") {
        Fixture crowd[CROWD];

        assert_mounts_at_once(f, "v", "/dev/vdb");
        open_callers(f, crowd, CROWD);
        for (guint i = 0; i < JOBS_MAX + 6; i++)
                send_hanging_device(&crowd[i % CROWD], i);
        WAIT_FOR(n_run(f, JOBS_MAX));
        assert_unmounts_at_once(f, "v");
        WAIT_FOR(n_run(f, JOBS_MAX));
        close_callers(crowd, CROWD);
}

/* All calls wait for one volume, which hangs. */
TEST_FIXTURE(test_waiting, "/limits/waiting") {
        Fixture other = other_caller(f);

        assert_mounts_at_once(f, "v", "/dev/vdb");
        for (guint i = 0; i < JOBS_WAITING_OF_CONNECTION; i++) {
                g_autofree char *target = g_strdup_printf("/var/lib/kubelet/pods/%u/volumes/v", i);

                send_mount(f, "hung", "/dev/hang-observe", target, HANG);
        }
        expect_error(f, start_mount(f, "w", "/dev/vdc", "/var/lib/kubelet/pods/w", "{}"), "LimitReached",
                     "of this caller");
        assert_unmounts_at_once(f, "v");
        assert_mounts_at_once(&other, "v", "/dev/vdb");
        close_caller(&other);
}

/* polkit does not answer. */
TEST_SET_UP(test_questions, "/limits/questions", fixture_set_up_other) {
        enum { MAX = QUESTIONS_OF_USER_MAX };
        GAsyncResult *calls[MAX];

        for (guint i = 0; i < MAX; i++)
                calls[i] = call_start(f, "GetMetrics", NULL);
        WAIT_FOR(gt_dbus_queue_get_n_messages(f->queue) == MAX);
        expect_error(f, call_start(f, "GetMetrics", NULL), "org.freedesktop.DBus.Error.AccessDenied",
                     "too many calls wait");
        for (guint i = 0; i < MAX; i++)
                polkit_answer(polkit_pop(f), TRUE, FALSE);
        for (guint i = 0; i < MAX; i++)
                g_variant_unref(expect_reply(f, calls[i]));
}

/* The calls of one user that wait for a job leave room to others, and the user can still cancel the job. */
TEST_SET_UP(test_followers, "/limits/followers", fixture_set_up_other) {
        enum { TOO_MANY = 8 };
        g_autoptr(GVariant) mounted = NULL, started = NULL, canceled = NULL;
        GAsyncResult *calls[WAITERS_OF_USER_MAX + TOO_MANY];
        const char *job;

        mounted = expect_allowed(
                f, start_mount(f, own_id("v"), "/dev/walk-hang", HEALTHY, "{'SELinuxLevel': <'s0:c1'>}"));
        started =
                expect_allowed(f, call_start(f, "Relabel", g_variant_new_parsed("(%s, '', @a{sv} {})", own_id("v"))));
        g_variant_get(started, "(&o)", &job);
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                calls[i] = call_start_at(f, job, "org.selvol1.Job", "Wait", NULL);
                polkit_answer(polkit_pop(f), TRUE, FALSE);
        }
        canceled = expect_allowed(f, call_start_at(f, job, "org.selvol1.Job", "Cancel", NULL));
        g_assert_cmpuint(count_refused(f, calls, G_N_ELEMENTS(calls), "calls wait for this job", NULL), ==, TOO_MANY);
}

/* Waits until the bus has read all that the caller has sent. */
static void await_bus(Fixture *f) {
        (void) bus_has_name(f->client, "org.selvol1");
}

/* Many connections give a user no more places than one. */
TEST_SET_UP(test_put_off, "/limits/put-off", set_up_refused) {
        enum { CONNECTIONS = 4, CALLS = 6, PLACES = 8 };
        Fixture callers[CONNECTIONS];
        GAsyncResult *calls[CONNECTIONS][CALLS];
        guint n_refused = 0;

        open_callers(f, callers, CONNECTIONS);
        g_assert_cmpint(kill(f->daemon, SIGSTOP), ==, 0);
        for (guint i = 0; i < CONNECTIONS; i++) {
                for (guint k = 0; k < CALLS; k++)
                        calls[i][k] = call_start_at(&callers[i], "/org/selvol1", "org.freedesktop.DBus.ObjectManager",
                                                    "GetManagedObjects", NULL);
                await_bus(&callers[i]);
        }
        g_assert_cmpint(kill(f->daemon, SIGCONT), ==, 0);
        for (guint i = 0; i < CONNECTIONS; i++)
                n_refused += count_refused(&callers[i], calls[i], CALLS, "wait to be read",
                                           "org.freedesktop.DBus.Error.AccessDenied");
        g_assert_cmpuint(n_refused, >, (CONNECTIONS * CALLS - PLACES) / 2);
        close_callers(callers, CONNECTIONS);
}

static GAsyncResult *start_large(Fixture *f, gsize bytes) {
        g_autofree char *level = g_strnfill(bytes, 'x');

        return call_start_at(
                f, "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
                g_variant_new("(ssv)", "org.freedesktop.LogControl1", "LogLevel", g_variant_new_string(level)));
}

static void end_large(Fixture *f, GAsyncResult *pending) {
        expect_error(f, pending, "LimitReached", "than any method takes");
}

/* selvold refuses large calls of all callers, before it asks polkit. */
static void test_large(Fixture *f, gconstpointer data) {
        end_large(f, start_large(f, 1024 * 1024));
        g_assert_cmpuint(gt_dbus_queue_get_n_messages(f->queue), ==, 0);
}

/* By default AddressSanitizer keeps memory that was freed, which a measurement would count. */
static void set_up_measured(Fixture *f, gconstpointer data) {
        g_setenv("ASAN_OPTIONS", "quarantine_size_mb=1", TRUE);
        fixture_set_up(f, data);
        g_unsetenv("ASAN_OPTIONS");
}

/* Others send large calls while selvold asks the bus about the sender of another call. It does not read them
 * meanwhile. */
TEST_SET_UP(test_large_at_once, "/limits/large/at-once", set_up_measured) {
        enum { SIZE = 8 * 1024 * 1024, CALLS = 10, GROWTH_KIB_MAX = 48 * 1024 };
        Fixture unknown = other_caller(f);
        GAsyncResult *large[CALLS], *probe;
        long before;

        end_large(f, start_large(f, SIZE));
        before = program_peak(f->daemon);
        g_assert_cmpint(kill(f->daemon, SIGSTOP), ==, 0);
        probe = call_start(&unknown, "GetMetrics", NULL);
        await_bus(&unknown);
        for (guint i = 0; i < CALLS; i++)
                large[i] = start_large(f, SIZE);
        await_bus(f);
        g_assert_cmpint(kill(f->daemon, SIGCONT), ==, 0);
        g_variant_unref(call_end(&unknown, probe, NULL));
        for (guint i = 0; i < CALLS; i++)
                end_large(f, large[i]);
        g_assert_cmpint(program_peak(f->daemon), <, before + GROWTH_KIB_MAX);
        close_caller(&unknown);
}

TEST_SET_UP(test_signals, "/limits/signals/service", set_up_measured) {
        Fixture stranger = other_caller(f);
        GAsyncResult *waiting = start_mount(f, "v", "/dev/held-observe", HEALTHY, "{}");

        WAIT_FOR(n_run(f, 1));
        bus_flood(stranger.client, "org.selvol1", f->daemon);
        write_file(f, "go", "");
        g_variant_unref(expect_reply(f, waiting));
        close_caller(&stranger);
}

/* selvold reads from its other connection, by which it asks for senders, only when it asks. The policy of the
 * installed bus lets no such signals through. */
TEST_SET_UP(test_signals_to_lookup, "/limits/signals/lookup", set_up_measured) {
        enum { SIZE = 1024 * 1024, SIGNALS = 80, GROWTH_KIB_MAX = 24 * 1024 };
        Fixture stranger = other_caller(f), unknown = other_caller(f);
        g_autofree char *text = g_strnfill(SIZE, 'x'), *owner = bus_owner_of(f->client, "org.selvol1"),
                        *lookup = NULL;
        g_autoptr(GVariant) arguments = g_variant_ref_sink(g_variant_new("(s)", text));
        long before;

        g_free(get_metrics(f));
        before = program_peak(f->daemon);
        lookup = bus_name_of(f->client, f->daemon, owner);
        g_assert_nonnull(lookup);
        for (guint i = 0; i < SIGNALS; i++)
                g_assert_true(
                        g_dbus_connection_emit_signal(stranger.client, lookup, "/", "a.b", "C", arguments, NULL));
        await_bus(&stranger);
        g_free(get_metrics(&unknown));
        g_assert_cmpint(program_peak(f->daemon), <, before + GROWTH_KIB_MAX);
        close_caller(&unknown);
        close_caller(&stranger);
}

static const struct {
        const char *name, *method;
        guint n_descriptors;
} descriptor_rows[] = {
        { "metrics-1", "GetMetrics", 1 }, { "metrics-16", "GetMetrics", 16 }, { "metrics-64", "GetMetrics", 64 },
        { "mount-1", "MountVolume", 1 },  { "mount-16", "MountVolume", 16 },  { "mount-64", "MountVolume", 64 },
        { "unknown-1", "Nothing", 1 },    { "unknown-16", "Nothing", 16 },    { "unknown-64", "Nothing", 64 },
};

static GAsyncResult *start_with_descriptors(Fixture *f, const char *method, guint n) {
        gboolean mounts = g_str_equal(method, "MountVolume");

        return call_start_with_descriptors(f, method, mounts ? mount_arguments("w", "/dev/vdc", T1, "{}") : NULL, n);
}

/* The bus hangs up on a caller that sends more descriptors than a message may have. */
static void end_with_descriptors(Fixture *f, GAsyncResult *pending, guint n) {
        enum { DESCRIPTORS_OF_MESSAGE = 16 };
        g_autoptr(GError) closed = NULL;

        if (n <= DESCRIPTORS_OF_MESSAGE) {
                expect_error(f, pending, "org.freedesktop.DBus.Error.NotSupported", "file descriptors");
                return;
        }
        g_assert_null(call_end(f, pending, &closed));
        g_assert_error(closed, G_IO_ERROR, G_IO_ERROR_CLOSED);
}

/* The bus refuses calls with descriptors, so that no caller can have selvold keep any: they would take the
 * places of all other files. */
TEST_FIXTURE_ROWS(test_descriptors, "/limits/descriptors", descriptor_rows) {
        const __typeof__(descriptor_rows[0]) *row = data;
        enum { CALLS = 100 };
        Fixture stranger = other_caller(f);
        GAsyncResult *waiting = start_mount(f, "v", "/dev/held-observe", HEALTHY, "{}"), *calls[CALLS];
        g_autofree char *before = NULL, *after = NULL;

        WAIT_FOR(n_run(f, 1));
        before = bus_owner_of(f->client, "org.selvol1");
        for (guint i = 0; i < CALLS; i++)
                calls[i] = start_with_descriptors(&stranger, row->method, row->n_descriptors);
        for (guint i = 0; i < CALLS; i++)
                end_with_descriptors(&stranger, calls[i], row->n_descriptors);
        assert_none_timed_out(f);
        write_file(f, "go", "");
        g_variant_unref(expect_reply(f, waiting));
        after = bus_owner_of(f->client, "org.selvol1");
        g_assert_cmpstr(after, ==, before);
        g_object_unref(stranger.client);
}

/* selvold is stopped, and then finds many calls of one caller, and one call of another, all at once. */
typedef struct Flood {
        Fixture other;
        GAsyncResult *calls[FLOOD], *probe;
} Flood;

static void flood_start(Flood *flood, Fixture *f, const char *interface, const char *method, const char *arguments) {
        flood->other = other_caller(f);
        /* selvold counts anew after 50 ms, in which other processes must not take the CPU. */
        (void) setpriority(PRIO_PROCESS, (id_t) f->daemon, -20);
        g_assert_cmpint(kill(f->daemon, SIGSTOP), ==, 0);
        for (guint i = 0; i < FLOOD; i++)
                flood->calls[i] =
                        call_start_at(f, "/org/selvol1", interface, method, g_variant_new_parsed(arguments));
        await_bus(f);
        flood->probe = call_start(&flood->other, "GetMetrics", NULL);
        await_bus(&flood->other);
        g_assert_cmpint(kill(f->daemon, SIGCONT), ==, 0);
}

/* Returns how many calls, with that of the other caller, selvold had carried out by the time of its
 * answer. */
static guint64 flood_end_probe(Flood *flood) {
        static const char series[] = "\nselvol_authorizations_total{result=\"root\"} ";
        g_autoptr(GVariant) reply = NULL;
        const char *text, *found;

        reply = expect_reply(&flood->other, flood->probe);
        g_variant_get(reply, "(&s)", &text);
        found = strstr(text, series);
        g_assert_nonnull(found);
        close_caller(&flood->other);
        return g_ascii_strtoull(found + strlen(series), NULL, 10);
}

/* Returns how many calls selvold refused. */
static guint flood_end(Flood *flood, Fixture *f) {
        return count_refused(f, flood->calls, FLOOD, "wait for answers", NULL);
}

/* A caller of many calls does not hold up a caller of one. */
TEST_FIXTURE(test_flood, "/limits/flood/calls") {
        Flood flood;

        flood_start(&flood, f, "org.freedesktop.DBus.Properties", "Get", "('org.selvol1.Manager', 'SELinuxMode')");
        g_assert_cmpuint(flood_end_probe(&flood), <, FLOOD / 2);
        g_assert_cmpuint(flood_end(&flood, f), ==, 0);
}

/* selvold refuses most of these calls, as the answers would be large. */
TEST_FIXTURE(test_flood_objects, "/limits/flood/objects") {
        Flood flood;

        flood_start(&flood, f, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "()");
        (void) flood_end_probe(&flood);
        g_assert_cmpuint(flood_end(&flood, f), >, FLOOD / 2);
}

/* selvold reads an array only up to the limit. */
static void test_long_array(Fixture *f, gconstpointer data) {
        GVariantBuilder strings = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_STRING_ARRAY),
                        options = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_VARDICT);
        guint n = GPOINTER_TO_UINT(data);

        for (guint i = 0; i < n; i++)
                g_variant_builder_add(&strings, "s", "");
        g_variant_builder_add(&options, "{sv}", "MountOptions", g_variant_builder_end(&strings));
        expect_error(f, call_start(f, "PlanVolume", g_variant_new("(sssa{sv})", "v", "/dev/vdb", HEALTHY, &options)),
                     n > 256 ? "LimitReached" : "InvalidOption",
                     n > 256 ? "than any method takes" : "Option \"MountOptions\" has more than 64");
}

/* Returns the options of a request with so many KiB of mount options. */
static char *make_large(guint kib) {
        g_autofree char *word = g_strnfill(1000, 'x');
        g_autoptr(GString) options = g_string_new("{'TimeoutUSec': <@t 600000000>, 'MountOptions': <[");

        for (guint i = 0; i < kib; i++)
                g_string_append_printf(options, "%s'subvol=/%s'", i == 0 ? "" : ", ", word);
        g_string_append(options, "]>}");
        return g_string_free(g_steal_pointer(&options), FALSE);
}

#define FIRST  "/var/lib/kubelet/pods/0/volumes/v"
#define SECOND "/var/lib/kubelet/pods/1/volumes/v"

/* Few jobs with long strings count as much as many with short ones, and leave room to others. selvold looks
 * at few large calls of a caller at once: get_metrics() waits until it has looked at the one before. */
TEST_FIXTURE(test_waiting_bytes, "/limits/waiting-bytes") {
        enum { KIB = 60, FIT = JOBS_WAITING_OF_CONNECTION / KIB, CALLS = CALLS_WAITING_BYTES / 1024 / KIB };
        g_autofree char *large = make_large(KIB);
        Fixture other = other_caller(f);

        for (guint i = 0; i < FIT; i++) {
                g_autofree char *target = g_strdup_printf("/var/lib/kubelet/pods/%u/volumes/v", i);

                send_mount(f, "hung", "/dev/hang-observe", target, large);
                g_free(get_metrics(f));
        }
        expect_error(f, start_mount(f, "w", "/dev/vdc", "/var/lib/kubelet/pods/w", large), "LimitReached",
                     "bytes of jobs of this caller run or wait");
        assert_mounts_at_once(&other, "v", "/dev/vdb");
        close_caller(&other);
        /* So do calls that wait for few jobs. */
        for (guint i = FIT; i < CALLS; i++) {
                send_mount(f, "hung", "/dev/hang-observe", i % 2 ? FIRST : SECOND, large);
                g_free(get_metrics(f));
        }
        expect_error(f, start_mount(f, "hung", "/dev/hang-observe", FIRST, large), "LimitReached",
                     "bytes of calls, ");
}

#define SHARED(level) "{'SELinuxLevel': <'" level "'>, 'WaitUSec': <@t 600000000>, " OVM "}"

/* A job that waits for holders with long targets keeps one of them, shows none, and still waits for all. */
TEST_FIXTURE(test_waits_for, "/limits/waits-for") {
        g_autofree char *filler = g_strnfill(200, 't');
        char *targets[4];
        g_autofree char *shown = NULL;
        GAsyncResult *waiting;

        for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
                targets[i] = g_strdup_printf("/var/lib/kubelet/pods/%u/%s/%s/%s/%s/%s/%s/%s/%s/%s/%s", i, filler,
                                             filler, filler, filler, filler, filler, filler, filler, filler, filler);
                mount_volume(f, "v", "/dev/vdb", targets[i], SHARED("s0:c1"));
        }
        waiting = start_mount(f, "v", "/dev/vdb", HEALTHY, SHARED("s0:c2"));
        wait_for_job(f, G_N_ELEMENTS(targets) + 1, "waiting");
        WAIT_FOR(n_run(f, 0));
        shown = get_text(f, "/org/selvol1/job/5", "org.selvol1.Job", "WaitsFor");
        g_assert_cmpstr(shown, ==, "[]");
        for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
                g_assert_false(call_has_ended(waiting));
                unmount_volume(f, "v", targets[i]);
                g_free(targets[i]);
        }
        g_variant_unref(expect_reply(f, waiting));
}

/* selvold.service has MemoryMax=256M, and dbus-daemon takes messages of 32 MiB on a system bus. */
enum { PEAK_KIB_MAX = 128 * 1024, REPLY_MIN = 14 * 1024 * 1024, REPLY_MAX = 24 * 1024 * 1024 };

/* The records have the most bytes that they may have, nearly all of them in what the bus shows of them. */
#define FULL                                                          \
        "UPDATE volume SET source='/dev/'||printf('%.*c', 250, 'x');" \
        "UPDATE holder SET spec='', name=printf('%.*c', 255, 'n'), target=target||'/'||printf('%.*c', 1430, 'x')"

/* Each waiting job has the most bytes that a job may have on average. */
static void send_waiting(Fixture *f, guint first, guint n) {
        g_autofree char *holder = g_strnfill(255, 'h'), *filler = g_strnfill(400, 't');

        for (guint i = first; i < first + n; i++) {
                g_autofree char *target =
                                        g_strdup_printf("/var/lib/kubelet/pods/waits-%u/%s", i, i == 0 ? "" : filler),
                                *options =
                                        g_strdup_printf("{'Holder': <'%s'>, 'TimeoutUSec': <@t 600000000>}", holder);

                send_mount(f, "v-1", "/dev/hang-observe", target, options);
        }
}

static void assert_objects_fit(Fixture *f) {
        g_autoptr(GVariant) objects = expect_reply(
                f, call_start_at(f, "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL));

        g_test_message("%zu bytes, peak %li KiB", g_variant_get_size(objects), program_peak(f->daemon));
        g_assert_cmpuint(g_variant_get_size(objects), >, REPLY_MIN);
        g_assert_cmpuint(g_variant_get_size(objects), <, REPLY_MAX);
#ifndef __SANITIZE_ADDRESS__ /* the test limits-memory measures */
        g_assert_cmpint(program_peak(f->daemon), <, PEAK_KIB_MAX);
#endif
}

/* All tables are full: the list of all objects fits into a message, and selvold into its memory, also after a
 * restart. */
TEST_FIXTURE(test_full, "/limits/full") {
        enum { CALLERS = JOBS_WAITING_MAX / JOBS_WAITING_OF_CONNECTION };
        g_autofree char *state = file_path(f, "state/state.db");
        Fixture callers[CALLERS];

        mount_volume(f, "v", "/dev/vdb", HEALTHY, "{}");
        daemon_stop(f, SIGTERM);
        records_fill_held(state, VOLUMES_MAX, HOLDERS_ALL_MAX - 1, FULL);
        write_file(f, "hang-watch", "");
        for (guint i = 0; i < 2; i++) {
                daemon_start(f);
                open_callers(f, callers, CALLERS);
                for (guint k = 0; k < CALLERS; k++)
                        send_waiting(&callers[k], k * JOBS_WAITING_OF_CONNECTION, JOBS_WAITING_OF_CONNECTION);
                WAIT_FOR(read_metric(f, "selvol_jobs_waiting") >= JOBS_WAITING_MAX - JOBS_MAX);
                assert_objects_fit(f);
                close_callers(callers, CALLERS);
                daemon_stop(f, SIGKILL);
        }
}

void add_tests(void) {
#define ADD(name, data, function) \
        g_test_add("/limits/" name, Fixture, data, fixture_set_up, function, fixture_tear_down)
        ADD("source/server", "server.example:/hang-observe", test_source);
        ADD("source/images", "/var/lib/selvol-images/fuse/hang-observe", test_source);
        ADD("array/long", GUINT_TO_POINTER(65), test_long_array);
        ADD("array/very-long", GUINT_TO_POINTER(500000), test_long_array);
        g_test_add("/limits/large/other", Fixture, NULL, fixture_set_up_other, test_large, fixture_tear_down);
        ADD("large/root", NULL, test_large);
}

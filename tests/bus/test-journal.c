/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What selvold logs: sentences that tell what happened to a volume without a look at fields, each thing once. */

#include <signal.h>
#include <string.h>

#include <glib/gstdio.h>

#include "support.h"

#define T1       "/var/lib/kubelet/pods/a/volumes/v"
#define T2       "/var/lib/kubelet/pods/b/volumes/v"
#define OVM      "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"
#define POD_A    "{'SELinuxLevel': <'s0:c10,c0'>, 'Holder': <'pod-a'>, " OVM "}"
#define POD_A2   "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a2'>, " OVM "}"
#define POD_B    "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, " OVM "}"
#define READER   "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'ReadOnly': <true>, " OVM "}"
#define READER_B "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, 'ReadOnly': <true>, " OVM "}"
#define GROUP_OF_READERS                                                                                                \
        "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'FSGroup': <uint32 1000>, 'VolumeType': <'secret'>, " OVM \
        "}"
#define WAITING "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, 'WaitUSec': <uint64 60000000>, " OVM "}"
#define SERVICE "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'RelabelBy': <'service'>}"

static void start(Fixture *f, Caller caller) {
        f->logged = TRUE;
        fixture_start(f, caller, caller != CALLER_ROOT);
}

static void set_up(Fixture *f, gconstpointer data) {
        start(f, CALLER_ROOT);
}

static void set_up_freezable(Fixture *f, gconstpointer data) {
        f->freezable = TRUE;
        start(f, CALLER_ROOT);
}

static void set_up_other(Fixture *f, gconstpointer data) {
        start(f, CALLER_OTHER);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

/* How many lines of the log match the pattern as a whole. */
static guint count_lines(Fixture *f, const char *pattern) {
        g_autofree char *log = read_file(f, "log");
        g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
        guint n = 0;

        for (char **line = lines; *line; line++)
                n += g_pattern_match_simple(pattern, *line);
        return n;
}

static void assert_said_once(Fixture *f, const char *pattern) {
        guint n = count_lines(f, pattern);

        if (n != 1) {
                g_autofree char *log = read_file(f, "log");

                g_error("said %u times: %s\n%s", n, pattern, log);
        }
}

static void mount(Fixture *f, const char *source, const char *target, const char *options) {
        GError *error = NULL;
        g_autoptr(GVariant) reply = call_mount(f, "v", source, target, options, &error);

        g_assert_no_error(error);
        g_assert_nonnull(reply);
}

static void fail_to_mount(Fixture *f, const char *source, const char *target, const char *options) {
        g_autoptr(GError) error = NULL;

        g_assert_null(call_mount(f, "v", source, target, options, &error));
        g_assert_nonnull(error);
}

static void unmount(Fixture *f, const char *target) {
        GError *error = NULL;

        g_assert_true(call_unmount(f, "v", target, &error));
        g_assert_no_error(error);
}

static void test_story(Fixture *f, gconstpointer data) {
        mount(f, "/dev/vdb", T1, POD_A);
        mount(f, "/dev/vdb", T1, POD_A);
        mount(f, "/dev/vdb", T2, POD_A2);
        unmount(f, T2);
        fail_to_mount(f, "/dev/vdb", T2, POD_B);
        unmount(f, T1);

        assert_said_once(f, "Mounted volume v at " T1 " for pod-a with s0:c0,c10 (* s).");
        assert_said_once(f,
                         "Mounted volume v at " T2 " for pod-a2 with s0:c0,c10, sharing the mount at " T1 " (* s).");
        assert_said_once(f, "Unmounted volume v at " T2 " with s0:c0,c10 (* s).");
        assert_said_once(f, "Failed to mount volume v at " T2
                            " for pod-b with s0:c20,c30: It is in use *held by pod-a *");
        assert_said_once(f, "Volume v is not in use any more, *");
        assert_said_once(f, "Volume v is mounted for writing with a context: *no label on disk.");
}

/* Nothing is said of a taint that this job has not caused, or ended. */
static void test_taint(Fixture *f, gconstpointer data) {
        static const char tainted[] = "*is mounted for writing with a context*",
                          again[] = "*labels on all its files again.";
        g_autofree char *mark = file_path(f, "mark-vdb");

        mount(f, "/dev/vdb", T1, POD_A);
        g_assert_cmpuint(count_lines(f, tainted), ==, 1);
        unmount(f, T1);

        /* The mark is gone, and the mount is read-only. */
        g_assert_cmpint(g_unlink(mark), ==, 0);
        mount(f, "/dev/vdb", T1, READER);
        g_assert_cmpuint(count_lines(f, tainted), ==, 1);
        g_assert_cmpuint(count_lines(f, again), ==, 0);
        unmount(f, T1);

        mount(f, "/dev/vdb", T1, POD_A);
        g_assert_cmpuint(count_lines(f, tainted), ==, 2);
        unmount(f, T1);
        mount(f, "/dev/vdb", T1, SERVICE);
        g_assert_cmpuint(count_lines(f, again), ==, 1);
}

static void test_waiting(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL;
        GAsyncResult *waiting;
        GError *error = NULL;

        mount(f, "/dev/vdb", T1, POD_A);
        waiting = call_start(f, "MountVolume", mount_arguments("v", "/dev/vdb", T2, WAITING));
        wait_for_job(f, 2, "waiting");
        unmount(f, T1);
        reply = call_end(f, waiting, &error);
        g_assert_no_error(error);
        assert_said_once(f, "Waiting to mount volume v at " T2 " for pod-b with s0:c20,c30: It is in use *pod-a*");
        assert_said_once(f, "Mounted volume v at " T2 " for pod-b with s0:c20,c30 (* s).");
}

/* Who waits in line for another job is told of after a second, and not if that takes less. */
static void test_line(Fixture *f, gconstpointer data) {
        GAsyncResult *first = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-held", T1, SERVICE)),
                     *second = call_start(f, "MountVolume", mount_arguments("v", "/dev/walk-held", T2, SERVICE));
        const char *waiting = "Waiting to mount volume v at " T2 " *: its mount (job 1) is in front";
        g_autoptr(GVariant) a = NULL, b = NULL;
        GError *error = NULL;

        wait_for_job(f, 2, "waiting");
        g_assert_cmpuint(count_lines(f, "Waiting to *"), ==, 0);
        pause_usec(1200000);
        assert_said_once(f, waiting);
        write_file(f, "go", "");
        a = call_end(f, first, &error);
        g_assert_no_error(error);
        b = call_end(f, second, &error);
        g_assert_no_error(error);
        assert_said_once(f, "Waiting to *");
}

static void test_relabel(Fixture *f, gconstpointer data) {
        mount(f, "/dev/walk-slow", T1, SERVICE);
        assert_said_once(f,
                         "Started to mount volume v at " T1 " for pod-a with s0:c0,c10: about 300 entries (job 1).");
        assert_said_once(f, "Relabeled volume v at " T1 " for pod-a with s0:c0,c10. 300 entries were visited, *");
        assert_said_once(f, "Mounted volume v at " T1
                            " for pod-a with s0:c0,c10 (* s). The policy is Always: *The service *");
}

/* A walk that takes no time is told of when it has ended. */
static void test_short_walk(Fixture *f, gconstpointer data) {
        mount(f, "/dev/vdb", T1, SERVICE);
        g_assert_cmpuint(count_lines(f, "Relabeled volume v *"), ==, 1);
        g_assert_cmpuint(count_lines(f, "Started to *"), ==, 0);
}

/* A walk that fails is one record, whatever it was for. */
static void test_failed_walk(Fixture *f, gconstpointer data) {
        fail_to_mount(f, "/dev/walk-fails", T1, SERVICE);
        assert_said_once(f, "*entries could not be changed*");
        assert_said_once(f, "Failed to mount volume v at " T1
                            " for pod-a with s0:c0,c10: 20 of 300 entries *; and 4 more. *");
}

/* What is interrupted does not go on by itself: the next selvold names it. */
static void test_interrupted(Fixture *f, gconstpointer data) {
        fail_to_mount(f, "/dev/walk-fails", T1, SERVICE);
        g_assert_cmpuint(count_lines(f, "The labels of volume v are partial*"), ==, 0);
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        assert_said_once(f, "The labels of volume v are partial: *: selvolctl relabel v system_u:object_r:"
                            "container_file_t:s0:c0,c10");
}

/* Used with another context since: which one it is to be relabeled to, only a person knows. */
static void test_interrupted_used(Fixture *f, gconstpointer data) {
        fail_to_mount(f, "/dev/walk-fails", T1, SERVICE);
        mount(f, "/dev/walk-fails", T1, READER_B);
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        assert_said_once(f, "The labels of volume v are partial: *: selvolctl relabel v CONTEXT");
}

/* A walk for readers ends with a group that is partial: nothing is wrong with it. */
static void test_readers(Fixture *f, gconstpointer data) {
        g_autofree char *mark = NULL;

        mount(f, "/dev/vdb", T1, GROUP_OF_READERS);
        mark = read_file(f, "mark-vdb");
        g_assert_nonnull(strstr(mark, "ownership=partial"));
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_lines(f, "*partial*"), ==, 0);
        g_assert_cmpuint(count_lines(f, "*selvolctl ownership*"), ==, 0);
}

static gsize count_history(Fixture *f) {
        g_autoptr(GVariant) history = NULL, entries = NULL;
        GError *error = NULL;

        history = call_end(f, call_start_at(f, "/org/selvol1/volume/v", "org.selvol1.Volume", "GetHistory", NULL),
                           &error);
        g_assert_no_error(error);
        entries = g_variant_get_child_value(history, 0);
        return g_variant_n_children(entries);
}

static void log_warnings_only(Fixture *f) {
        GError *error = NULL;

        g_assert_nonnull(call_end(
                f,
                call_start_at(f, "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
                              g_variant_new_parsed("('org.freedesktop.LogControl1', 'LogLevel', <'warning'>)")),
                &error));
        g_assert_no_error(error);
}

typedef struct Refusal {
        const char *source, *target, *options, *kind;
        guint n; /* warnings, and entries of the history */
} Refusal;

static void fail_with(Fixture *f, const Refusal *row) {
        guint warnings = count_lines(f, "Failed to mount *");
        gsize entries = count_history(f);
        GError *error = NULL;

        g_test_message("%s of %s", row->kind, row->source);
        g_assert_null(call_mount(f, "v", row->source, row->target, row->options, &error));
        assert_error(error, row->kind, "");
        g_assert_cmpuint(count_lines(f, "Failed to mount *"), ==, warnings + row->n);
        g_assert_cmpuint(count_history(f), ==, entries + row->n);
}

/* A mistake of the caller is no warning, and pushes nothing out of the history; what the node has, and what was begun, is one
 * and does, whatever the failure is called. */
static void test_mistake(Fixture *f, gconstpointer data) {
        static const Refusal conflict = { "/dev/vdb", T2, POD_B, "ContextConflict", 1 }, rows[] = {
                { "/dev/vdb", T2, "{'Holder': <'pod-b'>, " OVM "}", "LevelRequired", 0 },
                { "/dev/vdb", T2, "{'SELinuxContext': <'system_u:object_r:shadow_t:s0:c1'>, " OVM "}",
                  "TypeNotAllowed", 0 },
                { "/dev/foreign", T2, POD_A, "PathNotAllowed", 1 },
                { "/dev/exchanged", T2, POD_A, "InvalidTarget", 1 },
        };

        mount(f, "/dev/vdb", T1, POD_A);
        log_warnings_only(f);
        fail_with(f, &conflict);
        unmount(f, T1);
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                fail_with(f, &rows[i]);
}

static void test_denied(Fixture *f, gconstpointer data) {
        static const struct {
                gboolean challenge;
                const char *why;
        } rows[] = { { FALSE, "polkit does not allow it" }, { TRUE, "it needs an administrator's password" } };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                GAsyncResult *pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/vdb", T1, POD_A));
                g_autofree char *pattern = g_strdup_printf(
                        "MountVolume of volume v by uid %u, :* is not authorized (org.selvol1.mount-volume): %s*",
                        (unsigned) getuid(), rows[i].why);
                g_autoptr(GError) error = NULL;

                polkit_answer(polkit_pop(f), FALSE, rows[i].challenge);
                g_assert_null(call_end(f, pending, &error));
                assert_said_once(f, pattern);
        }
}

static void test_store_healed(Fixture *f, gconstpointer data) {
        store_break(f);
        fail_to_mount(f, "/dev/vdb", T1, POD_A);
        assert_said_once(f, "The state can't be written to *");
        store_thaw(f);
        pause_usec(1100000);
        mount(f, "/dev/vdb", T1, POD_A);
        assert_said_once(f, "The state can be written again: *");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, set_up, function) g_test_add("/journal/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("story", set_up, test_story);
        ADD("taint", set_up, test_taint);
        ADD("waiting", set_up, test_waiting);
        ADD("line", set_up, test_line);
        ADD("relabel", set_up, test_relabel);
        ADD("short-walk", set_up, test_short_walk);
        ADD("failed-walk", set_up, test_failed_walk);
        ADD("interrupted", set_up, test_interrupted);
        ADD("interrupted-used", set_up, test_interrupted_used);
        ADD("readers", set_up, test_readers);
        ADD("mistake", set_up, test_mistake);
        ADD("denied", set_up_other, test_denied);
        ADD("store-healed", set_up_freezable, test_store_healed);
        return g_test_run();
}

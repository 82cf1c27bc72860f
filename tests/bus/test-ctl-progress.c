/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl while something takes long: the progress, on a terminal and without one, and signals. */
#include <signal.h>
#include <string.h>

#include "ctl-support.h"
#include "support/service.h"

/* All drawn lines, one element each, "" for the line being cleared. */
static char **terminal_lines(const Terminal *t) {
        char **lines = g_strsplit(t->output->str, "\r\033[K", -1);

        g_assert_cmpstr(lines[0], ==, ""); /* nothing but that is written */
        return lines;
}

static void emit_changed(GDBusMethodInvocation *call, const char *path, const char *changed) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GVariant) values = g_variant_parse(G_VARIANT_TYPE("a{sv}"), changed, NULL, NULL, &error);

        g_assert_no_error(error);
        g_dbus_connection_emit_signal(
                g_dbus_method_invocation_get_connection(call), NULL, path, "org.freedesktop.DBus.Properties",
                "PropertiesChanged", g_variant_new("(s@a{sv}@as)", JOB, values, g_variant_new_strv(NULL, 0)), &error);
        g_assert_no_error(error);
}

static GDBusMethodInvocation *begin_relabel(Fixture *f) {
        static const Exchange relabel = RELABEL, wait = WAIT(DONE);

        serve_calls(f, &relabel, 1);
        return await_call(f, &wait);
}

static char *progress_text(guint64 done, guint64 total, guint64 rate, guint64 seconds_left) {
        guint64 end = seconds_left > 0 ? (guint64) g_get_real_time() + seconds_left * G_USEC_PER_SEC : 0;

        return g_strdup_printf("{'EntriesDone': <uint64 %" G_GUINT64_FORMAT ">, 'EntriesTotal': <uint64 "
                               "%" G_GUINT64_FORMAT ">, 'EntriesPerSecond': <uint64 %" G_GUINT64_FORMAT
                               ">, 'ExpectedEndUSec': <uint64 %" G_GUINT64_FORMAT ">, 'State': <'running'>}",
                               done, total, rate, end);
}

typedef struct Width {
        const char *name;
        unsigned short columns;
        const char *line;
} Width;

static const Width widths[] = {
        { "width-200", 200,
          "[##################----------------------]   45%  450000/1000000  250000/s  2h 1min left" },
        { "width-80", 80, "[#############------------------]   45%  450000/1000000  250000/s  2h 1min left" },
        { "width-59", 59, "[####------]   45%  450000/1000000  250000/s  2h 1min left" },
        { "width-58", 58, " 45%  450000/1000000  250000/s  2h 1min left" },
        { "width-45", 45, " 45%  450000/1000000  250000/s  2h 1min left" },
        { "width-44", 44, " 45%  450000/1000000  250000/s" },
        { "width-24", 24, " 45%  450000/1000000" },
        { "width-5", 5, " 45%" },
        { "width-0", 0, /* 80, as it is unknown */
          "[#############------------------]   45%  450000/1000000  250000/s  2h 1min left" },
};

/* As much as there is room for, and never so much that the terminal goes on to a new line. */
TEST_FIXTURE_ROWS(test_width, "/ctl-progress", widths) {
        const Width *width = data;
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(450000, 1000000, 250000, 2 * 3600 + 90), *out = NULL;
        g_auto(GStrv) lines = NULL;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, "relabel pvc-1", width->columns);
        wait = begin_relabel(f);
        emit_changed(wait, JOB7, progress);
        terminal_await(&t, width->line);
        answer_call(wait, &(Exchange) WAIT(DONE));
        out = terminal_finish(&t);

        g_assert_cmpstr(out, ==, DONE_TEXT);
        lines = terminal_lines(&t);
        g_assert_cmpuint(g_strv_length(lines), >=, 3);
        for (size_t k = 1; lines[k]; k++) {
                g_assert_cmpuint(strlen(lines[k]), <, width->columns> 0 ? width->columns : 80);
                g_assert_cmpstr(lines[k], ==, lines[k + 1] ? width->line : "");
        }
}

/* It follows what is said, also of a total that isn't known or was too low, and of no other job. */
TEST_FIXTURE(test_changes, "/ctl-progress/changes") {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *first = progress_text(12, 0, 0, 0), *second = progress_text(5, 4, 3, 1),
                        *other = progress_text(999, 1000, 0, 0), *out = NULL;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, "relabel pvc-1 --json", 50);
        wait = begin_relabel(f);
        emit_changed(wait, JOB6, other);
        emit_changed(wait, JOB7, first);
        terminal_await(&t, "\033[K12 entries");
        emit_changed(wait, JOB7, second);
        terminal_await(&t, "]  100%  5/4  3/s");
        emit_changed(wait, JOB7, "{'EntriesDone': <'many'>}");
        emit_changed(wait, JOB7, "{'EntriesTotal': <uint64 10>}");
        terminal_await(&t, "]   50%  5/10  3/s");
        answer_call(wait, &(Exchange) WAIT(DONE));
        out = terminal_finish(&t);
        g_assert_null(strstr(t.output->str, "999"));
        g_assert_true(g_str_has_suffix(t.output->str, "\r\033[K"));
        g_assert_true(g_str_has_prefix(out, "{"));
}

/* However often something changes. */
TEST_FIXTURE(test_rate, "/ctl-progress/rate") {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *out = NULL;
        g_auto(GStrv) lines = NULL;
        gint64 start = g_get_monotonic_time(), elapsed;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, "relabel pvc-1", 80);
        wait = begin_relabel(f);
        for (guint64 i = 1; i <= 200; i++) {
                g_autofree char *progress = progress_text(i, 1000, 0, 0);

                emit_changed(wait, JOB7, progress);
                g_usleep(4000);
        }
        terminal_await(&t, "200/1000");
        answer_call(wait, &(Exchange) WAIT(DONE));
        out = terminal_finish(&t);
        elapsed = g_get_monotonic_time() - start;

        lines = terminal_lines(&t);
        g_assert_cmpuint(g_strv_length(lines) - 2, <=, elapsed / 250000 + 1);
}

/* A job that is over soon, or that is not to be shown, leaves no trace. */
static void test_unseen(Fixture *f, gconstpointer data) {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(1, 2, 3, 4), *out = NULL;
        const gboolean quick = !strstr(data, "-q");
        g_auto(Terminal) t = { 0 };

        /* LeakSanitizer stops the process as it ends; a SIGCONT that comes then makes it hang. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        terminal_start(&t, data, 80);
        g_unsetenv("ASAN_OPTIONS");
        wait = begin_relabel(f);
        /* However long this takes, both are there when it goes on. */
        if (quick)
                g_subprocess_send_signal(t.child, SIGSTOP);
        emit_changed(wait, JOB7, progress);
        /* Anything would have been shown by then. */
        if (!quick)
                g_usleep(600000);
        answer_call(wait, &(Exchange) WAIT(DONE));
        (void) bus_has_name(g_dbus_method_invocation_get_connection(wait), "org.selvol1");
        g_subprocess_send_signal(t.child, SIGCONT);
        out = terminal_finish(&t);
        g_assert_cmpstr(t.output->str, ==, "");
}

/* A long call shows the job that it has become, and no job of another operation or one that has ended. */
typedef struct CallCase {
        const char *operation, *command, *state;
        Exchange call;
} CallCase;

static const CallCase calls[] = {
        { "mount", "mount pvc-1 /dev/vdb /t", "waiting",
          CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})") },
        { "adopt", "adopt pvc-1 /t", "acting",
          CALL("AdoptVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})") },
        { "verify", "verify pvc-1 --depth full", "running",
          CALL("VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", "(true, '', @a{sv} {})") },
};

static void answer_properties(Fixture *f, const char *path, const char *operation, const char *state, int id) {
        g_autofree char *reply = g_strdup_printf(
                "({'Id': <uint64 %i>, 'Operation': <'%s'>, 'Volume': <'pvc-1'>, 'State': <'%s'>, 'EntriesDone': "
                "<uint64 %i1>, 'EntriesTotal': <uint64 100>},)",
                id, operation, state, id);
        const Exchange x = { path, "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Job',)", reply };

        serve_calls(f, &x, 1);
}

TEST_FIXTURE_ROWS(test_call, "/ctl-progress", calls) {
        const CallCase *c = data;
        g_autoptr(GDBusMethodInvocation) call = NULL;
        g_autofree char *out = NULL;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, c->command, 60);
        call = await_call(f, &c->call);
        emit_changed(call, JOB6, "{'EntriesDone': <uint64 60>, 'EntriesTotal': <uint64 100>}");
        answer_properties(f, JOB6, c == calls ? "relabel" : c->operation, c == calls ? "running" : "ended", 6);
        emit_changed(call, JOB6, "{'EntriesDone': <uint64 60>, 'EntriesTotal': <uint64 100>}");
        emit_changed(call, JOB7, "{'EntriesDone': <uint64 70>, 'EntriesTotal': <uint64 100>}");
        answer_properties(f, JOB7, c->operation, c->state, 7);
        terminal_await(&t, "71%  71/100");
        emit_changed(call, JOB7, "{'EntriesDone': <uint64 75>}");
        terminal_await(&t, "75%  75/100");
        answer_call(call, &c->call);
        out = terminal_finish(&t);
        g_assert_null(strstr(t.output->str, "6"));
        g_assert_nonnull(strstr(out, "pvc-1"));
        g_assert_cmpint(g_subprocess_get_exit_status(t.child), ==, 0);
}

/* A signal ends the following, not the job; it is the signal that ends selvolctl. */
static void test_interrupt(Fixture *f, gconstpointer data) {
        int signal_number = GPOINTER_TO_INT(data);
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(7, 8, 0, 0), *out = NULL;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, "relabel pvc-1", 80);
        wait = begin_relabel(f);
        emit_changed(wait, JOB7, progress);
        terminal_await(&t, "7/8");
        g_subprocess_send_signal(t.child, signal_number);
        out = terminal_finish(&t);
        g_assert_cmpstr(out, ==, "");
        g_assert_true(g_str_has_suffix(
                t.output->str, "7/8\r\033[Kselvolctl: pvc-1: job 7 continues; 'selvolctl cancel 7' ends it\r\n"));
        g_assert_true(g_subprocess_get_if_signaled(t.child));
        g_assert_cmpint(g_subprocess_get_term_sig(t.child), ==, signal_number);
        g_assert_cmpuint(gt_dbus_queue_get_n_messages(f->queue), ==, 0);
        answer_call(wait, &(Exchange) WAIT(DONE));
}

/* Likewise without a terminal, and of a call whose job isn't known: it is looked for. */
typedef struct Interrupted {
        const char *name, *objects, *err;
} Interrupted;

static const Interrupted interrupted[] = {
        { "job-found",
          "({objectpath '" JOB6
          "': {'org.selvol1.Job': {'Id': <uint64 6>, 'Operation': <'mount'>, 'Volume': <'pvc-2'>, "
          "'State': <'acting'>}}, '" JOB7
          "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'mount'>, 'Volume': "
          "<'pvc-1'>, 'State': <'acting'>}}},)",
          "selvolctl: pvc-1: job 7 continues; 'selvolctl cancel 7' ends it\n" },
        { "job-waits",
          "({objectpath '" JOB6
          "': {'org.selvol1.Job': {'Id': <uint64 6>, 'Operation': <'mount'>, 'Volume': <'pvc-1'>, "
          "'Target': <'/other'>, 'State': <'running'>}}, '" JOB7
          "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'mount'>, 'Volume': <'pvc-1'>, 'Target': <'/t'>, "
          "'State': <'waiting'>, 'Callers': <uint32 1>, 'TimeoutUSec': <uint64 20000000>}}},)",
          "selvolctl: pvc-1: the mount is not made unless the same command is run again within 20s; 'selvolctl cancel "
          "7' ends it at once\n" },
        { "job-waits-for-others",
          "({objectpath '" JOB7
          "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'mount'>, 'Volume': <'pvc-1'>, 'Target': <'/t'>, "
          "'State': <'waiting'>, 'Callers': <uint32 2>, 'TimeoutUSec': <uint64 20000000>}}},)",
          "selvolctl: pvc-1: job 7 continues; 'selvolctl cancel 7' ends it\n" },
        { "job-not-found", "(@a{oa{sa{sv}}} {},)", "selvolctl: pvc-1: selvold continues, see 'selvolctl jobs'\n" },
        { "job-no-answer", NULL, "selvolctl: pvc-1: selvold continues, see 'selvolctl jobs'\n" },
};

TEST_FIXTURE_ROWS(test_interrupt_call, "/ctl-progress/interrupt", interrupted) {
        const Interrupted *c = data;
        const Exchange look = GET_OBJECTS(c->objects, "org.selvol1.Error.Busy", "");
        g_autoptr(GSubprocess) child = ctl_start(calls[0].command, -1);
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &calls[0].call);
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GError) error = NULL;

        g_subprocess_send_signal(child, SIGTERM);
        serve_calls(f, &look, 1);
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(err, ==, c->err);
        g_assert_true(g_subprocess_get_if_signaled(child));
        answer_call(call, &calls[0].call);
}

/* A call that waits says for whom and how long, once; one that does not wait says nothing. */
typedef struct Wait {
        const char *name, *state, *for_whom, *err;
} Wait;

#define POD_A "{'Volume': <'pvc-1'>, 'Holder': <'pod-A'>, 'Target': <'/a'>}"

static const Wait waits[] = {
        { "holder", "waiting", "[" POD_A "]", "selvolctl: pvc-1: waiting for pod-A at /a, at most 3min\n" },
        { "holders", "waiting", "[" POD_A ", {'Holder': <'pod-B'>, 'Target': <'/b'>}]",
          "selvolctl: pvc-1: waiting for pod-A at /a, and 1 more, at most 3min\n" },
        { "job", "waiting", "[{'Job': <uint64 3>, 'Operation': <'unmount'>, 'Volume': <'pvc-1'>}]",
          "selvolctl: waiting for job 3 (unmount of pvc-1), at most 3min\n" },
        { "works", "running", "@aa{sv} []", "" },
};

TEST_FIXTURE_ROWS(test_wait, "/ctl-progress/wait", waits) {
        static const Exchange mount =
                CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'WaitUSec': <uint64 180000000>})",
                     "('', '', @a{sv} {})");
        const Wait *c = data;
        g_autofree char *objects = g_strdup_printf(
                "({objectpath '" JOB7 "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'mount'>, 'Volume': "
                "<'pvc-1'>, 'Target': <'/t'>, 'Callers': <uint32 1>, 'State': <'%s'>, 'WaitsFor': <%s>}}},)",
                c->state, c->for_whom);
        const Exchange look = GET_OBJECTS(objects, NULL, NULL);
        g_autoptr(GSubprocess) child = ctl_start("mount pvc-1 /dev/vdb /t --wait=3min", -1);
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &mount);
        g_autofree char *out = NULL, *err = NULL;

        serve_calls(f, &look, 1);
        /* A second look would be a call that nobody answers. */
        g_usleep(600000);
        g_assert_cmpuint(gt_dbus_queue_get_n_messages(f->queue), ==, 0);
        answer_call(call, &mount);
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, NULL);
        g_assert_cmpstr(err, ==, c->err);
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, 0);
}

TEST_FIXTURE(test_wait_terminal, "/ctl-progress/wait/terminal") {
        static const Exchange mount =
                CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'WaitUSec': <uint64 3600000000>})",
                     "('', '', @a{sv} {})");
        const Exchange look =
                GET_OBJECTS("({objectpath '" JOB7 "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': "
                            "<'mount'>, 'Volume': <'pvc-1'>, 'Target': <'/t'>, 'State': <'waiting'>, "
                            "'WaitsFor': <[" POD_A "]>}}},)",
                            NULL, NULL);
        g_autoptr(GDBusMethodInvocation) call = NULL;
        g_autofree char *out = NULL;
        g_auto(Terminal) t = { 0 };

        terminal_start(&t, "mount pvc-1 /dev/vdb /t --wait", 80);
        call = await_call(f, &mount);
        serve_calls(f, &look, 1);
        terminal_await(&t, "selvolctl: pvc-1: waiting for pod-A at /a, at most 1h (Control-C gives up)\r\n");
        answer_call(call, &mount);
        out = terminal_finish(&t);
        g_assert_nonnull(strstr(out, "pvc-1"));
}

/* A line, and no other while there is nothing new to say; after ten seconds unless a test is in a hurry. */
static void test_no_terminal(Fixture *f, gconstpointer interval) {
        static const char line[] = "selvolctl: pvc-1: job 7: 45%  450000/1000000  250000/s  2h 1min left\n";
        g_autofree char *progress = progress_text(450000, 1000000, 250000, 2 * 3600 + 90), *out = NULL, *err = NULL;
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autoptr(GSubprocess) child = NULL;
        char said[sizeof(line)] = "";

        if (interval)
                g_setenv("SELVOL_REPORT_USEC", interval, TRUE);
        child = ctl_start("relabel pvc-1", -1);
        g_unsetenv("SELVOL_REPORT_USEC");
        wait = begin_relabel(f);
        emit_changed(wait, JOB7, progress);
        g_input_stream_read_all(g_subprocess_get_stderr_pipe(child), said, sizeof(said) - 1, NULL, NULL, NULL);
        g_assert_cmpstr(said, ==, line);
        g_usleep(500000);
        answer_call(wait, &(Exchange) WAIT(DONE));
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, NULL);
        g_assert_cmpstr(err, ==, "");
        g_assert_cmpstr(out, ==, DONE_TEXT);
}

#define ADD(path, data, test) g_test_add(path, Fixture, data, fixture_set_up, test, fixture_tear_down)

void add_tests(void) {
        g_setenv("TERM", "xterm", TRUE);
        g_unsetenv("COLUMNS");

        ADD("/ctl-progress/quick", "relabel pvc-1", test_unseen);
        ADD("/ctl-progress/quiet", "relabel pvc-1 -q", test_unseen);
        ADD("/ctl-progress/interrupt/int", GINT_TO_POINTER(SIGINT), test_interrupt);
        ADD("/ctl-progress/interrupt/term", GINT_TO_POINTER(SIGTERM), test_interrupt);
        ADD("/ctl-progress/no-terminal", "100000", test_no_terminal);
        if (g_test_slow())
                ADD("/ctl-progress/no-terminal-long", NULL, test_no_terminal);
}

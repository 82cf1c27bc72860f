/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl and jobs: relabel, verify of many files, jobs and cancel; what is asked for, and what is shown meanwhile.
 */
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ctl-support.h"

enum { WAIT_USEC = 10 * G_USEC_PER_SEC };

#define JOB      "org.selvol1.Job"
#define DBUS_JOB JOB7, "org.freedesktop.DBus.Properties"
#define RELABEL \
        { MANAGER, "Relabel", "('pvc-1', '', " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" }
#define OWNERSHIP \
        { MANAGER, "ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" }
#define WAIT(answer) \
        { JOB7, JOB, "Wait", "()", answer }

#define WALKED                                                                                   \
        "'DurationUSec': <uint64 402113>, 'Relabel': <'walked'>, 'RelabelReason': <'unknown'>, " \
        "'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>"
#define DONE "('done', {" WALKED "})"
#define DONE_TEXT                                                                                     \
        "         Volume: pvc-1\n            Job: 7\n         Result: done\n       Duration: 402ms\n" \
        "        Relabel: walked\n Relabel reason: unknown\n        Entries: 300\nEntries changed: 250\n"
#define FAILED                                                                                                    \
        "('EntriesFailed', {'ErrorMessage': <'1 of 300 entries could not be relabeled: a\\\\x0ab: no.'>, " WALKED \
        ", 'EntriesFailed': <uint64 1>, 'Failures': <[('a\\\\x0ab', 'no')]>})"

#define JOBS                                                                                                     \
        "({objectpath '/org/selvol1/job/10': {'org.selvol1.Job': {'Id': <uint64 10>, 'Operation': <'relabel'>, " \
        "'Volume': <'pvc-1'>, 'Context': <'" CONTEXT "'>, 'State': <'acting'>, 'EntriesDone': <uint64 500>, "    \
        "'EntriesTotal': <uint64 2000>, 'EntriesChanged': <uint64 5>, 'EntriesFailed': <uint64 0>, "             \
        "'EntriesPerSecond': <uint64 100>, 'StartedUSec': <uint64 1767225600000000>, "                           \
        "'ExpectedEndUSec': <uint64 1767225600000000>, 'Result': <''>, 'ErrorName': <''>, 'ErrorMessage': "      \
        "<''>}}, '" JOB7 "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'verify'>, 'Volume': "         \
        "<'/té\\u001b'>, 'State': <'ended'>, 'EntriesDone': <uint64 0>, 'EntriesTotal': <uint64 0>, 'Result': " \
        "<'TimedOut'>, 'ErrorName': <'TimedOut'>, 'ErrorMessage': <'Slow.'>}}, "                                 \
        "'/org/selvol1/job/11': {'org.selvol1.Job': {'Id': <uint64 11>, 'Operation': <'mount'>, 'Volume': "      \
        "<'pvc-1'>, 'State': <'waiting'>, 'Result': <''>}}, '" PVC1                                              \
        "': {'org.selvol1.Volume': {'Id': <'pvc-1'>}}},)"

#define VERIFIED                                                                                                     \
        "(false, '" CONTEXT "', {'Expected': <'" CONTEXT "'>, 'Depth': <'full'>, 'EntriesDone': <uint64 31250>, "    \
        "'EntriesMismatched': <uint64 2>, 'EntriesFailed': <uint64 1>, 'Mismatches': <[('data/a', 'u:r:tmp_t:s0'), " \
        "('b', '')]>, 'Text': <'2 of 31250 differ.'>, 'Job': <objectpath '" JOB7 "'>})"

#define GIVEN                                                                                        \
        "'DurationUSec': <uint64 2113>, 'Ownership': <'walked'>, 'OwnershipReason': <'requested'>, " \
        "'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 12>, 'EntriesChanged': <uint64 3>"

static const Case cases[] = {
        { "relabel/walked", "relabel pvc-1", { RELABEL, WAIT(DONE) }, 0, .out = DONE_TEXT },
        { "relabel/options",
          "relabel pvc-1 u:r:t:s0:c1 --force --max-entries-per-second=5000 --timeout=1min -q",
          { { MANAGER, "Relabel",
              "('pvc-1', 'u:r:t:s0:c1', {'Force': <true>, 'MaxEntriesPerSecond': <uint64 5000>, 'TimeoutUSec': "
              "<uint64 60000000>})",
              "(objectpath '" JOB7 "',)" },
            WAIT(DONE) },
          0,
          .out = "" },
        { "relabel/skipped",
          "relabel pvc-1",
          { RELABEL, WAIT("('done', {'Relabel': <'skipped'>, 'RelabelReason': <'complete'>})") },
          0,
          .out = "        Volume: pvc-1\n           Job: 7\n        Result: done\n       Relabel: skipped\n"
                 "Relabel reason: complete\n" },
        { "relabel/skipped-entries",
          "relabel pvc-1",
          { RELABEL, WAIT("('done', {'Relabel': <'walked'>, 'EntriesSkipped': <uint64 4>, 'Submounts': <['m', "
                          "'n/\\u0007']>})") },
          0,
          .out = "         Volume: pvc-1\n            Job: 7\n         Result: done\n        Relabel: walked\n"
                 "Entries skipped: 4\n      Submounts: m,n/\\x07\n" },
        { "relabel/failed",
          "relabel pvc-1",
          { RELABEL, WAIT(FAILED) },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: 1 of 300 entries could not be relabeled: a\\x0ab: no.\n" },
        { "relabel/failed-json",
          "relabel pvc-1 --json",
          { RELABEL, WAIT(FAILED) },
          1,
          .json = "{\"DurationUSec\":402113,\"EntriesChanged\":250,\"EntriesDone\":300,\"EntriesFailed\":1,"
                  "\"ErrorMessage\":\"1 of 300 entries could not be relabeled: a\\\\x0ab: no.\","
                  "\"Failures\":[{\"Message\":\"no\",\"Path\":\"a\\\\x0ab\"}],\"Job\":7,\"Relabel\":\"walked\","
                  "\"RelabelReason\":\"unknown\",\"Result\":\"EntriesFailed\",\"Volume\":\"pvc-1\"}" },
        { "relabel/failed-without-message",
          "relabel pvc-1",
          { RELABEL, WAIT("('WorkerFailed', @a{sv} {})") },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: WorkerFailed\n" },
        { "relabel/canceled",
          "relabel pvc-1",
          { RELABEL, WAIT("('Canceled', {'ErrorMessage': <'The job was canceled.'>})") },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: The job was canceled.\n" },
        { "relabel/refused",
          "relabel pvc-1",
          { { MANAGER, "Relabel", "('pvc-1', '', " NO_OPTIONS ")", NULL, "org.selvol1.Error.ContextConflict",
              "pvc-1 is held by pod-B." } },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1 is held by pod-B.\n" },
        { "relabel/service-ends",
          "relabel pvc-1",
          { RELABEL, { JOB7, JOB, "Wait", "()", NULL, "org.selvol1.Error.Canceled", "The service ends." } },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: The service ends.\n" },
        { "relabel/no-wait", "relabel pvc-1 --no-wait", { RELABEL }, 0, .out = "7\n" },
        { "relabel/no-wait-quiet", "relabel pvc-1 --no-wait -q", { RELABEL }, 0, .out = "" },
        { "relabel/no-wait-json",
          "relabel pvc-1 --no-wait --json",
          { RELABEL },
          0,
          .json = "{\"Job\":7,\"Volume\":\"pvc-1\"}" },

        { "ownership/walked",
          "ownership pvc-1 1000",
          { OWNERSHIP, WAIT("('done', {" GIVEN "})") },
          0,
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n        Duration: 2ms\n"
                 "       Ownership: walked\nOwnership reason: requested\n        FS group: 1000\n"
                 "         Entries: 12\n Entries changed: 3\n" },
        { "ownership/options",
          "ownership pvc-1 4294967294 --read-only --force --max-entries-per-second=5000 --timeout=1min -q",
          { { MANAGER, "ApplyOwnership",
              "('pvc-1', uint32 4294967294, {'ReadOnly': <true>, 'Force': <true>, 'MaxEntriesPerSecond': <uint64 "
              "5000>, 'TimeoutUSec': <uint64 60000000>})",
              "(objectpath '" JOB7 "',)" },
            WAIT("('done', {" GIVEN "})") },
          0,
          .out = "" },
        { "ownership/skipped",
          "ownership pvc-1 0",
          { { MANAGER, "ApplyOwnership", "('pvc-1', uint32 0, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" },
            WAIT("('done', {'Ownership': <'skipped'>, 'OwnershipReason': <'complete'>, 'FSGroup': <uint32 0>})") },
          0,
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n       Ownership: skipped\n"
                 "Ownership reason: complete\n        FS group: 0\n" },
        { "ownership/none",
          "ownership pvc-1 1000",
          { OWNERSHIP, WAIT("('done', {'Ownership': <'none'>, 'OwnershipReason': <'read-only'>})") },
          0,
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n       Ownership: none\n"
                 "Ownership reason: read-only\n" },
        { "ownership/failed",
          "ownership pvc-1 1000",
          { OWNERSHIP,
            WAIT("('EntriesFailed', {'ErrorMessage': <'1 of 12 entries could not be changed: a\\\\x0ab: no.'>})") },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: 1 of 12 entries could not be changed: a\\x0ab: no.\n" },
        { "ownership/failed-json",
          "ownership pvc-1 1000 --json",
          { OWNERSHIP, WAIT("('EntriesFailed', {'ErrorMessage': <'No.'>, " GIVEN ", 'Failures': <[('a', 'no')]>})") },
          1,
          .json = "{\"DurationUSec\":2113,\"EntriesChanged\":3,\"EntriesDone\":12,\"ErrorMessage\":\"No.\","
                  "\"FSGroup\":1000,\"Failures\":[{\"Message\":\"no\",\"Path\":\"a\"}],\"Job\":7,\"Ownership\":"
                  "\"walked\",\"OwnershipReason\":\"requested\",\"Result\":\"EntriesFailed\",\"Volume\":\"pvc-1\"}" },
        { "ownership/conflict-later",
          "ownership pvc-1 1000",
          { OWNERSHIP, WAIT("('GroupConflict', {'ErrorMessage': <'pod-B has come.'>})") },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pod-B has come.\n" },
        { "ownership/refused",
          "ownership pvc-1 1000",
          { { MANAGER, "ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.GroupConflict", "pvc-1 is for group 5 at pod-B." } },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1 is for group 5 at pod-B.\n" },
        { "ownership/no-wait", "ownership pvc-1 1000 --no-wait", { OWNERSHIP }, 0, .out = "7\n" },
        { "ownership/no-wait-json",
          "ownership pvc-1 1000 --no-wait --json",
          { OWNERSHIP },
          0,
          .json = "{\"Job\":7,\"Volume\":\"pvc-1\"}" },
        { "ownership/name", "ownership pvc-1 'st\033aff'", .code = 2, .out = "",
          .err = "selvolctl: st\\x1baff: expected the number of a group, at most 4294967294\n" },
        { "ownership/gid-none", "ownership pvc-1 4294967295", .code = 2, .out = "",
          .err = "selvolctl: 4294967295: expected the number of a group, at most 4294967294\n" },
        { "ownership/negative", "ownership pvc-1 -- -1", .code = 2, .out = "",
          .err = "selvolctl: -1: expected the number of a group, at most 4294967294\n" },
        { "ownership/operands", "ownership pvc-1", .code = 2, .out = "",
          .err = "selvolctl: usage: selvolctl ownership VOLUME GID\n" },
        { "ownership/fs-group", "ownership pvc-1 1 --fs-group=2", .code = 2, .out = "",
          .err = "selvolctl: ownership does not take --fs-group\n" },

        { "verify/misowned",
          "verify pvc-1 --depth=full --fs-group=1000",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'FSGroup': <uint32 1000>, 'Depth': <'full'>})",
              "(true, '" CONTEXT
              "', {'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 9>, 'EntriesMisowned': <uint64 "
              "2>, 'Mismatches': <[('a', 'group 5, mode 0600')]>, 'Text': <'2 have another group.'>})" } },
          5,
          .out = "      Volume: pvc-1\n     Matches: yes\n      Actual: " CONTEXT
                 "\n    FS group: 1000\n     Entries: 9\nWrong groups: 2\n  Mismatches: 1\n        Text: 2 have "
                 "another group.\n\nPATH MESSAGE\na    group 5, mode 0600\n" },
        { "verify/owned",
          "verify pvc-1 --depth=full",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})",
              "(true, '', {'FSGroup': <uint32 0>, 'EntriesMisowned': <uint64 0>})" } },
          0,
          .out = "      Volume: pvc-1\n     Matches: yes\n    FS group: 0\nWrong groups: 0\n" },
        { "verify/misowned-quiet",
          "verify pvc-1 -q",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', " NO_OPTIONS ")",
              "(true, '', {'EntriesMisowned': <uint64 1>})" } },
          5,
          .out = "" },
        { "verify/full",
          "verify pvc-1 --depth=full --max-entries-per-second=2",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>, 'MaxEntriesPerSecond': <uint64 2>})",
              VERIFIED } },
          5,
          .out = "        Volume: pvc-1\n       Matches: no\n        Actual: " CONTEXT "\n      Expected: " CONTEXT
                 "\n         Depth: full\n       Entries: 31250\n"
                 "  Wrong labels: 2\nEntries failed: 1\n    Mismatches: 2\n          Text: 2 of 31250 differ.\n"
                 "           Job: 7\n\nPATH   MESSAGE\ndata/a u:r:tmp_t:s0\nb      -\n" },
        { "verify/mismatches-json",
          "verify pvc-1 --json --depth full",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", VERIFIED } },
          5,
          .json = "{\"Actual\":\"" CONTEXT "\",\"Depth\":\"full\",\"EntriesDone\":31250,\"EntriesFailed\":1,"
                  "\"EntriesMismatched\":2,\"Expected\":\"" CONTEXT "\",\"Job\":7,\"Matches\":false,"
                  "\"Mismatches\":[{\"Message\":\"u:r:tmp_t:s0\",\"Path\":\"data/a\"},{\"Message\":\"\",\"Path\":"
                  "\"b\"}],\"Text\":\"2 of 31250 differ.\",\"Volume\":\"pvc-1\"}" },

        { "jobs/table",
          "jobs",
          { { OBJECTS, "GetManagedObjects", "()", JOBS } },
          0,
          .out = "ID OPERATION VOLUME  STATE   ENTRIES TOTAL PERCENT RATE TIME-LEFT RESULT\n"
                 "7  verify    /té\\x1b ended   0       0     -       -    -         TimedOut\n"
                 "10 relabel   pvc-1   acting  500     2000  25      100  -         -\n"
                 "11 mount     pvc-1   waiting -       -     -       -    -         -\n\n3 jobs listed.\n" },
        { "jobs/none",
          "jobs --no-legend",
          { { OBJECTS, "GetManagedObjects", "()", "(@a{oa{sa{sv}}} {},)" } },
          0,
          .out = "" },
        { "jobs/json",
          "jobs --json",
          { { OBJECTS, "GetManagedObjects", "()", JOBS } },
          0,
          .json = "[{\"EntriesDone\":0,\"EntriesTotal\":0,\"ErrorMessage\":\"Slow.\",\"ErrorName\":\"TimedOut\","
                  "\"Id\":7,\"Operation\":\"verify\",\"Result\":\"TimedOut\",\"State\":\"ended\",\"Volume\":"
                  "\"/t\\u00e9\\u001b\"},{\"Context\":\"" CONTEXT "\",\"EntriesChanged\":5,\"EntriesDone\":500,"
                  "\"EntriesFailed\":0,\"EntriesPerSecond\":100,\"EntriesTotal\":2000,\"ExpectedEndUSec\":"
                  "1767225600000000,\"Id\":10,\"Operation\":\"relabel\",\"Percent\":25,\"StartedUSec\":"
                  "1767225600000000,\"State\":\"acting\",\"Volume\":\"pvc-1\"},{\"Id\":11,\"Operation\":\"mount\","
                  "\"State\":\"waiting\",\"Volume\":\"pvc-1\"}]" },

        { "cancel/canceled",
          "cancel 7",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', {'ErrorMessage': <'x'>, 'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 2>})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .out = "            Job: 7\n       Canceled: yes\n         Result: Canceled\n        Message: x\n"
                 "        Entries: 300\nEntries changed: 2\n" },
        { "cancel/ended",
          "cancel 7",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('done', @a{sv} {})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .out = "     Job: 7\nCanceled: no\n  Result: done\n" },
        { "cancel/json",
          "cancel 7 --json",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', {'EntriesDone': <uint64 0>})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .json = "{\"Canceled\":true,\"EntriesDone\":0,\"Job\":7,\"Result\":\"Canceled\"}" },
        { "cancel/quiet",
          "cancel 7 -q",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', @a{sv} {})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .out = "" },
        { "cancel/denied",
          "cancel 7",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', @a{sv} {})"),
            { JOB7, JOB, "Cancel", "()", NULL, "org.freedesktop.DBus.Error.AccessDenied", "No." } },
          4,
          .out = "",
          .err = "selvolctl: job 7: No.\n" },
        { "cancel/unknown",
          "cancel 8",
          { { MANAGER, "GetJob", "(uint64 8,)", NULL, "org.selvol1.Error.NoSuchJob",
              "Job 8 is not known: it has ended, and its result is no longer kept." } },
          1,
          .out = "",
          .err = "selvolctl: job 8: Job 8 is not known: it has ended, and its result is no longer kept.\n" },
        { "cancel/no-number", "cancel pvc-1", .code = 2, .out = "",
          .err = "selvolctl: pvc-1: expected the number of a job, see 'selvolctl jobs'\n" },
};

/* selvolctl with its standard error on a terminal, and what it has written there. */
typedef struct Terminal {
        GSubprocess *child;
        int fd;
        GString *output;
} Terminal;

static void terminal_start(Terminal *t, const char *command, unsigned short columns) {
        const struct winsize size = { .ws_row = 25, .ws_col = columns };
        int slave;

        g_assert_cmpint(openpty(&t->fd, &slave, NULL, NULL, &size), ==, 0);
        g_assert_cmpint(fcntl(t->fd, F_SETFD, FD_CLOEXEC), ==, 0);
        g_assert_cmpint(fcntl(slave, F_SETFD, FD_CLOEXEC), ==, 0);
        t->output = g_string_new(NULL);
        t->child = ctl_start(command, slave);
}

/* FALSE at the end. */
static gboolean terminal_read(Terminal *t) {
        struct pollfd p = { .fd = t->fd, .events = POLLIN };
        char buffer[4096];
        ssize_t n;

        if (poll(&p, 1, 20) == 0)
                return TRUE;
        n = read(t->fd, buffer, sizeof(buffer)); /* EIO when the other side is closed */
        if (n <= 0)
                return FALSE;
        g_string_append_len(t->output, buffer, n);
        return TRUE;
}

static void terminal_await(Terminal *t, const char *text) {
        gint64 end = g_get_monotonic_time() + WAIT_USEC;

        while (!strstr(t->output->str, text)) {
                if (g_get_monotonic_time() > end)
                        g_error("'%s' did not appear, but '%s'", text, t->output->str);
                g_assert_true(terminal_read(t));
        }
}

/* Reads to the end. Returns standard output. */
static char *terminal_finish(Terminal *t) {
        g_autoptr(GError) error = NULL;
        char *out = NULL;

        while (terminal_read(t))
                ;
        g_subprocess_communicate_utf8(t->child, NULL, NULL, &out, NULL, &error);
        g_assert_no_error(error);
        return out;
}

static void terminal_done(Terminal *t) {
        g_clear_object(&t->child);
        g_string_free(t->output, TRUE);
        close(t->fd);
}

/* What was drawn, one element each, "" for the line being cleared. */
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
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &relabel);

        answer_call(call, &relabel);
        return await_call(f, &wait);
}

static char *progress_text(guint64 done, guint64 total, guint64 rate, guint64 seconds_left) {
        guint64 end = seconds_left > 0 ? (guint64) g_get_real_time() + seconds_left * G_USEC_PER_SEC : 0;

        return g_strdup_printf("{'EntriesDone': <uint64 %" G_GUINT64_FORMAT ">, 'EntriesTotal': <uint64 "
                               "%" G_GUINT64_FORMAT ">, 'EntriesPerSecond': <uint64 %" G_GUINT64_FORMAT
                               ">, 'ExpectedEndUSec': <uint64 %" G_GUINT64_FORMAT ">, 'State': <'running'>}",
                               done, total, rate, end);
}

static const struct {
        unsigned short columns;
        const char *line;
} widths[] = {
        { 200, "[##################----------------------]   45%  450000/1000000  250000/s  2h 1min left" },
        { 80, "[#############------------------]   45%  450000/1000000  250000/s  2h 1min left" },
        { 59, "[####------]   45%  450000/1000000  250000/s  2h 1min left" },
        { 58, " 45%  450000/1000000  250000/s  2h 1min left" },
        { 45, " 45%  450000/1000000  250000/s  2h 1min left" },
        { 44, " 45%  450000/1000000  250000/s" },
        { 24, " 45%  450000/1000000" },
        { 5, " 45%" },
        { 0, "[#############------------------]   45%  450000/1000000  250000/s  2h 1min left" }, /* unknown: 80 */
};

/* As much as there is room for, and never so much that the terminal goes on to a new line. */
static void test_width(Fixture *f, gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(450000, 1000000, 250000, 2 * 3600 + 90), *out = NULL;
        g_auto(GStrv) lines = NULL;
        Terminal t = { 0 };

        terminal_start(&t, "relabel pvc-1", widths[i].columns);
        wait = begin_relabel(f);
        emit_changed(wait, JOB7, progress);
        terminal_await(&t, widths[i].line);
        answer_call(wait, &(Exchange) WAIT(DONE));
        out = terminal_finish(&t);

        g_assert_cmpstr(out, ==, DONE_TEXT);
        lines = terminal_lines(&t);
        g_assert_cmpuint(g_strv_length(lines), >=, 3);
        for (size_t k = 1; lines[k]; k++) {
                g_assert_cmpuint(strlen(lines[k]), <, widths[i].columns> 0 ? widths[i].columns : 80);
                g_assert_cmpstr(lines[k], ==, lines[k + 1] ? widths[i].line : "");
        }
        terminal_done(&t);
}

/* It follows what is said, also of a total that isn't known or was too low, and of no other job. */
static void test_changes(Fixture *f, gconstpointer data) {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *first = progress_text(12, 0, 0, 0), *second = progress_text(5, 4, 3, 1),
                        *other = progress_text(999, 1000, 0, 0), *out = NULL;
        Terminal t = { 0 };

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
        terminal_done(&t);
}

/* However often something changes. */
static void test_rate(Fixture *f, gconstpointer data) {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *out = NULL;
        g_auto(GStrv) lines = NULL;
        gint64 start = g_get_monotonic_time(), elapsed;
        Terminal t = { 0 };

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
        terminal_done(&t);
}

/* A job that is over soon, or that is not to be shown, leaves no trace. */
static void test_unseen(Fixture *f, gconstpointer data) {
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(1, 2, 3, 4), *out = NULL;
        Terminal t = { 0 };

        terminal_start(&t, data, 80);
        wait = begin_relabel(f);
        emit_changed(wait, JOB7, progress);
        if (strstr(data, "-q"))
                g_usleep(600000);
        answer_call(wait, &(Exchange) WAIT(DONE));
        out = terminal_finish(&t);
        g_assert_cmpstr(t.output->str, ==, "");
        terminal_done(&t);
}

/* Calls that take long show the job that they have become, and none of another operation or one that has ended. */
static const struct {
        const char *command, *operation, *state;
        Exchange call;
} calls[] = {
        { "mount pvc-1 /dev/vdb /t",
          "mount",
          "waiting",
          { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})" } },
        { "adopt pvc-1 /t",
          "adopt",
          "acting",
          { MANAGER, "AdoptVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})" } },
        { "verify pvc-1 --depth full",
          "verify",
          "running",
          { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", "(true, '', @a{sv} {})" } },
};

static void answer_properties(Fixture *f, const char *path, const char *operation, const char *state, int id) {
        g_autofree char *reply = g_strdup_printf(
                "({'Id': <uint64 %i>, 'Operation': <'%s'>, 'Volume': <'pvc-1'>, 'State': <'%s'>, 'EntriesDone': "
                "<uint64 %i1>, 'EntriesTotal': <uint64 100>},)",
                id, operation, state, id);
        Exchange x = { path, "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Job',)", reply };
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &x);

        answer_call(call, &x);
}

static void test_call(Fixture *f, gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        g_autoptr(GDBusMethodInvocation) call = NULL;
        g_autofree char *out = NULL;
        Terminal t = { 0 };

        terminal_start(&t, calls[i].command, 60);
        call = await_call(f, &calls[i].call);
        emit_changed(call, JOB6, "{'EntriesDone': <uint64 60>, 'EntriesTotal': <uint64 100>}");
        answer_properties(f, JOB6, i == 0 ? "relabel" : calls[i].operation, i == 0 ? "running" : "ended", 6);
        emit_changed(call, JOB6, "{'EntriesDone': <uint64 60>, 'EntriesTotal': <uint64 100>}");
        emit_changed(call, JOB7, "{'EntriesDone': <uint64 70>, 'EntriesTotal': <uint64 100>}");
        answer_properties(f, JOB7, calls[i].operation, calls[i].state, 7);
        terminal_await(&t, "71%  71/100");
        emit_changed(call, JOB7, "{'EntriesDone': <uint64 75>}");
        terminal_await(&t, "75%  75/100");
        answer_call(call, &calls[i].call);
        out = terminal_finish(&t);
        g_assert_null(strstr(t.output->str, "6"));
        g_assert_nonnull(strstr(out, "pvc-1"));
        g_assert_cmpint(g_subprocess_get_exit_status(t.child), ==, 0);
        terminal_done(&t);
}

/* A signal ends the following, not the job; it is the signal that ends selvolctl. */
static void test_interrupt(Fixture *f, gconstpointer data) {
        int signal_number = GPOINTER_TO_INT(data);
        g_autoptr(GDBusMethodInvocation) wait = NULL;
        g_autofree char *progress = progress_text(7, 8, 0, 0), *out = NULL;
        Terminal t = { 0 };

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
        terminal_done(&t);
}

/* Likewise without a terminal, and of a call whose job isn't known. */
static void test_interrupt_call(Fixture *f, gconstpointer data) {
        g_autoptr(GSubprocess) child = ctl_start(calls[0].command, -1);
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &calls[0].call);
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GError) error = NULL;

        g_subprocess_send_signal(child, SIGINT);
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(err, ==, "selvolctl: pvc-1: selvold continues, see 'selvolctl jobs'\n");
        g_assert_true(g_subprocess_get_if_signaled(child));
        answer_call(call, &calls[0].call);
}

#define ADD(path, data, test) g_test_add(path, Fixture, data, fixture_set_up, test, fixture_tear_down)

int main(int argc, char **argv) {
        setlocale(LC_ALL, "C.UTF-8");
        g_setenv("TERM", "xterm", TRUE);
        g_unsetenv("COLUMNS");
        g_test_init(&argc, &argv, NULL);
        g_test_set_nonfatal_assertions();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/ctl-job/%s", cases[i].name);

                ADD(path, &cases[i], test_case);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(widths); i++) {
                g_autofree char *path = g_strdup_printf("/ctl-job/terminal/width-%u", widths[i].columns);

                ADD(path, GSIZE_TO_POINTER(i), test_width);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autofree char *path = g_strdup_printf("/ctl-job/terminal/%s", calls[i].operation);

                ADD(path, GSIZE_TO_POINTER(i), test_call);
        }
        ADD("/ctl-job/terminal/changes", NULL, test_changes);
        ADD("/ctl-job/terminal/rate", NULL, test_rate);
        ADD("/ctl-job/terminal/quick", "relabel pvc-1", test_unseen);
        ADD("/ctl-job/terminal/quiet", "relabel pvc-1 -q", test_unseen);
        ADD("/ctl-job/interrupt/int", GINT_TO_POINTER(SIGINT), test_interrupt);
        ADD("/ctl-job/interrupt/term", GINT_TO_POINTER(SIGTERM), test_interrupt);
        ADD("/ctl-job/interrupt/call", NULL, test_interrupt_call);
        return g_test_run();
}

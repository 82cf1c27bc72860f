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
#define CHGRP \
        { MANAGER, "ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" }
#define WAIT(answer) \
        { JOB7, JOB, "Wait", "()", answer }
#define UNKNOWN "Nothing is known of the labels: all files are looked at."

#define DETAILS                                                                                                 \
        "'DurationUSec': <uint64 402113>, 'Relabel': <'walked'>, 'RelabelReason': <'unknown'>, 'RelabelText': " \
        "<'" UNKNOWN "'>, 'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>"
#define DONE "('done', {" DETAILS ", 'EntriesFailed': <uint64 0>, 'Failures': <@a(ss) []>})"
#define FAILED                                                                                                      \
        "('EntriesFailed', {'Error': <'pvc-1: 1 of 300 entries could not be relabelled: a\\\\x0ab: no.'>, " DETAILS \
        ", 'EntriesFailed': <uint64 1>, 'EntriesSkipped': <uint64 2>, 'DirectoriesUnsettled': <uint64 0>, "         \
        "'Failures': <[('a\\\\x0ab', 'no')]>, "                                                                     \
        "'MountsInside': <['m', 'n']>})"

#define JOBS                                                                                                      \
        "({objectpath '/org/selvol1/job/10': {'org.selvol1.Job': {'Id': <uint64 10>, 'Operation': <'relabel'>, "  \
        "'Volume': <'pvc-1'>, 'Context': <'" CONTEXT "'>, 'State': <'running'>, 'EntriesDone': <uint64 500>, "    \
        "'EntriesTotal': <uint64 2000>, 'EntriesChanged': <uint64 5>, 'EntriesFailed': <uint64 0>, "              \
        "'EntriesPerSecond': <uint64 100>, 'StartedUSec': <uint64 1767225600000000>, "                            \
        "'ExpectedEndUSec': <uint64 1767225600000000>, 'Result': <''>, 'Error': <''>}}, "                         \
        "'" JOB7 "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'verify'>, 'Volume': <'/té\\u001b'>, " \
        "'State': <'ended'>, 'EntriesDone': <uint64 0>, 'EntriesTotal': <uint64 0>, 'Result': <'TimedOut'>, "     \
        "'Error': <'Slow.'>}}, '" PVC1 "': {'org.selvol1.Volume': {'Id': <'pvc-1'>}}},)"

#define VERIFIED                                                                                                     \
        "(false, '" CONTEXT "', {'Expected': <'" CONTEXT "'>, 'Depth': <'full'>, 'EntriesDone': <uint64 31250>, "    \
        "'EntriesMismatched': <uint64 2>, 'EntriesFailed': <uint64 1>, 'Mismatches': <[('data/a', 'u:r:tmp_t:s0'), " \
        "('b', '')]>, 'Text': <'2 of 31250 differ.'>, 'Job': <objectpath '" JOB7 "'>})"

#define GIVEN                                                                                             \
        "'DurationUSec': <uint64 2113>, 'Relabel': <''>, 'RelabelReason': <''>, 'RelabelText': <''>, "    \
        "'Ownership': <'walked'>, 'OwnershipReason': <'requested'>, 'OwnershipText': <'As asked for.'>, " \
        "'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 12>, 'EntriesChanged': <uint64 3>"

static const Case cases[] = {
        { "relabel/walked",
          "relabel pvc-1",
          { RELABEL, WAIT(DONE) },
          0,
          .out = "Volume pvc-1 is relabelled: 300 entries, 250 changed, in 402ms. " UNKNOWN "\n" },
        { "relabel/options",
          "relabel pvc-1 u:r:t:s0:c1 --force --max-entries-per-second=5000 --timeout=1min -q",
          { { MANAGER, "Relabel",
              "('pvc-1', 'u:r:t:s0:c1', {'Force': <true>, 'MaxEntriesPerSecond': <uint64 "
              "5000>, "
              "'TimeoutUSec': <uint64 60000000>})",
              "(objectpath '" JOB7 "',)" },
            WAIT(DONE) },
          0,
          .out = "" },
        { "relabel/skipped",
          "relabel pvc-1",
          { RELABEL, WAIT("('done', {'Relabel': <'skipped'>, 'RelabelText': <'All is well.'>})") },
          0,
          .out = "Volume pvc-1 needs no relabel. All is well.\n" },
        { "relabel/left-alone",
          "relabel pvc-1",
          { RELABEL,
            WAIT("('done', {" DETAILS ", 'EntriesSkipped': <uint64 4>, 'MountsInside': <['m', 'n/\\u0007']>})") },
          0,
          .out = "Volume pvc-1 is relabelled: 300 entries, 250 changed, in 402ms. " UNKNOWN "\n"
                 "Left alone, as hard links that may lead out of the volume: 4\n"
                 "Not entered, as other file systems are mounted there: m,n/\\x07\n" },
        { "relabel/failed",
          "relabel pvc-1",
          { RELABEL, WAIT(FAILED) },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1: 1 of 300 entries could not be relabelled: a\\x0ab: no.\n" },
        { "relabel/failed-json",
          "relabel pvc-1 --json",
          { RELABEL, WAIT(FAILED) },
          1,
          .json = "{\"failures\":[{\"message\":\"no\",\"path\":\"a\\\\x0ab\",\"volume\":\"pvc-1\"}],\"relabel\":[{"
                  "\"directories_unsettled\":0,\"duration_usec\":402113,\"entries_changed\":250,\"entries_done\":300,"
                  "\"entries_failed\":1,"
                  "\"entries_skipped\":2,\"error\":\"pvc-1: 1 of 300 entries could not be relabelled: a\\\\x0ab: "
                  "no.\",\"fs_group\":null,\"job\":7,\"mounts_inside\":[\"m\",\"n\"],\"ownership\":null,"
                  "\"ownership_reason\":null,\"ownership_text\":null,\"relabel\":\"walked\",\"relabel_reason\":"
                  "\"unknown\",\"relabel_text\":\"" UNKNOWN
                  "\",\"result\":\"EntriesFailed\",\"volume\":\"pvc-1\"}]}" },
        { "relabel/cancelled",
          "relabel pvc-1",
          { RELABEL, WAIT("('Canceled', {'Error': <'Somebody has cancelled it.'>})") },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: Somebody has cancelled it.\n" },
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
        { "relabel/no-wait-json",
          "relabel pvc-1 --no-wait --json",
          { RELABEL },
          0,
          .json = "{\"relabel\":[{\"job\":7,\"volume\":\"pvc-1\"}]}" },

        { "chgrp/walked",
          "chgrp pvc-1 1000",
          { CHGRP, WAIT("('done', {" GIVEN "})") },
          0,
          .out = "Volume pvc-1 belongs to group 1000: 12 entries, 3 changed, in 2ms. As asked for.\n" },
        { "chgrp/options",
          "chgrp pvc-1 4294967294 --read-only --force --max-entries-per-second=5000 "
          "--timeout=1min -q",
          { { MANAGER, "ApplyOwnership",
              "('pvc-1', uint32 4294967294, {'ReadOnly': <true>, 'Force': <true>, "
              "'MaxEntriesPerSecond': <uint64 5000>, 'TimeoutUSec': <uint64 "
              "60000000>})",
              "(objectpath '" JOB7 "',)" },
            WAIT("('done', {" GIVEN "})") },
          0,
          .out = "" },
        { "chgrp/skipped",
          "chgrp pvc-1 0",
          { { MANAGER, "ApplyOwnership", "('pvc-1', uint32 0, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" },
            WAIT("('done', {'Ownership': <'skipped'>, 'OwnershipText': <'The record says so.'>, 'FSGroup': <uint32 "
                 "0>})") },
          0,
          .out = "Volume pvc-1 belongs to group 0 already. The record says so.\n" },
        { "chgrp/not-given",
          "chgrp pvc-1 1000",
          { CHGRP, WAIT("('done', {'Ownership': <'none'>, 'OwnershipText': <'It is read-only.'>, 'FSGroup': <uint32 "
                        "4294967295>})") },
          0,
          .out = "Volume pvc-1 is not given to the group. It is read-only.\n" },
        { "chgrp/left-alone",
          "chgrp pvc-1 1000",
          { CHGRP, WAIT("('done', {" GIVEN ", 'EntriesSkipped': <uint64 4>, 'MountsInside': <['m']>})") },
          0,
          .out = "Volume pvc-1 belongs to group 1000: 12 entries, 3 changed, in 2ms. As asked for.\n"
                 "Left alone, as hard links that may lead out of the volume: 4\n"
                 "Not entered, as other file systems are mounted there: m\n" },
        { "chgrp/failed",
          "chgrp pvc-1 1000",
          { CHGRP, WAIT("('EntriesFailed', {'Error': <'1 of 12 entries could not be changed: a\\\\x0ab: no.'>})") },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: 1 of 12 entries could not be changed: a\\x0ab: no.\n" },
        { "chgrp/failed-json",
          "chgrp pvc-1 1000 --json",
          { CHGRP,
            WAIT("('EntriesFailed', {'Error': <'No.'>, " GIVEN ", 'EntriesFailed': <uint64 1>, 'Failures': <[('a', "
                 "'no')]>})") },
          1,
          .json = "{\"chgrp\":[{\"directories_unsettled\":0,\"duration_usec\":2113,\"entries_changed\":3,"
                  "\"entries_done\":12,\"entries_failed\":1,\"entries_skipped\":0,\"error\":\"No.\",\"fs_group\":"
                  "1000,"
                  "\"job\":7,\"mounts_inside\":[],\"ownership\":\"walked\",\"ownership_reason\":\"requested\","
                  "\"ownership_text\":\"As asked "
                  "for.\",\"relabel\":null,\"relabel_reason\":null,\"relabel_text\":null,"
                  "\"result\":\"EntriesFailed\",\"volume\":\"pvc-1\"}],\"failures\":[{\"message\":\"no\",\"path\":"
                  "\"a\",\"volume\":\"pvc-1\"}]}" },
        { "chgrp/conflict-later",
          "chgrp pvc-1 1000",
          { CHGRP, WAIT("('GroupConflict', {'Error': <'pod-B has come.'>})") },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pod-B has come.\n" },
        { "chgrp/refused",
          "chgrp pvc-1 1000",
          { { MANAGER, "ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.GroupConflict", "pvc-1 is for group 5 at pod-B." } },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1 is for group 5 at pod-B.\n" },
        { "chgrp/no-wait", "chgrp pvc-1 1000 --no-wait", { CHGRP }, 0, .out = "7\n" },
        { "chgrp/no-wait-json",
          "chgrp pvc-1 1000 --no-wait --json",
          { CHGRP },
          0,
          .json = "{\"chgrp\":[{\"job\":7,\"volume\":\"pvc-1\"}]}" },
        { "chgrp/name", "chgrp pvc-1 'st\033aff'", .code = 2, .out = "",
          .err = "selvolctl: st\\x1baff: expected the number of a group, at most 4294967294\n" },
        { "chgrp/none", "chgrp pvc-1 4294967295", .code = 2, .out = "",
          .err = "selvolctl: 4294967295: expected the number of a group, at most 4294967294\n" },
        { "chgrp/negative", "chgrp pvc-1 -- -1", .code = 2, .out = "",
          .err = "selvolctl: -1: expected the number of a group, at most 4294967294\n" },
        { "chgrp/operands", "chgrp pvc-1", .code = 2, .out = "",
          .err = "selvolctl: usage: selvolctl chgrp VOLUME GID\n" },
        { "chgrp/fs-group", "chgrp pvc-1 1 --fs-group=2", .code = 2, .out = "",
          .err = "selvolctl: chgrp does not take --fs-group\n" },

        { "verify/misowned",
          "verify pvc-1 --depth=full --fs-group=1000",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'FSGroup': <uint32 1000>, 'Depth': <'full'>})",
              "(true, '" CONTEXT
              "', {'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 9>, 'EntriesMisowned': <uint64 "
              "2>, 'Mismatches': <[('a', 'group 5, mode 0600')]>, 'Text': <'2 have another group.'>})" } },
          5,
          .out = "          Volume: pvc-1\n         Matches: yes\n          Actual: " CONTEXT
                 "\n  Expected group: 1000\n         Entries: 9\nEntries misowned: 2\n          Result: 2 have "
                 "another group.\n\nPATH MESSAGE\na    group 5, mode 0600\n" },
        { "verify/owned",
          "verify pvc-1 --depth=full",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})",
              "(true, '', {'FSGroup': <uint32 0>, 'EntriesMisowned': <uint64 0>})" } },
          0,
          .out = "        Volume: pvc-1\n       Matches: yes\nExpected group: 0\n" },
        { "verify/misowned-quiet",
          "verify pvc-1 -q",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', " NO_OPTIONS ")",
              "(true, '', {'EntriesMisowned': <uint64 1>})" } },
          5,
          .out = "" },
        { "verify/full",
          "verify pvc-1 --depth=full --max-entries-per-second=2",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'MaxEntriesPerSecond': <uint64 2>, 'Depth': <'full'>})",
              VERIFIED } },
          5,
          .out = "             Volume: pvc-1\n            Matches: no\n             Actual: " CONTEXT
                 "\n           Expected: " CONTEXT "\n              Depth: full\n            Entries: 31250\n"
                 "Entries that differ: 2\n             Errors: 1\n             Result: 2 of 31250 differ.\n"
                 "                Job: 7\n\nPATH   MESSAGE\ndata/a u:r:tmp_t:s0\nb      -\n" },
        { "verify/json",
          "verify pvc-1 --depth full --json",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})",
              "(true, 'c', {'EntriesDone': <uint64 6905>, 'Text': <'Well.'>})" } },
          0,
          .json = "{\"mismatches\":[],\"verify\":[{\"actual\":\"c\",\"depth\":null,\"entries_done\":6905,"
                  "\"entries_failed\":0,\"entries_mismatched\":0,\"entries_misowned\":0,\"expected\":null,\"fs_"
                  "group\":null,\"job\":0,\"matches\":true,"
                  "\"selinux_mode\":null,\"target\":null,\"text\":\"Well.\","
                  "\"volume\":\"pvc-1\"}]}" },
        { "verify/mismatches-json",
          "verify pvc-1 --json --depth full",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", VERIFIED } },
          5,
          .json = "{\"mismatches\":[{\"message\":\"u:r:tmp_t:s0\",\"path\":\"data/a\",\"volume\":\"pvc-1\"},"
                  "{\"message\":null,\"path\":\"b\",\"volume\":\"pvc-1\"}],\"verify\":[{\"actual\":\"" CONTEXT
                  "\",\"depth\":\"full\",\"entries_done\":31250,\"entries_failed\":1,\"entries_mismatched\":2,"
                  "\"entries_misowned\":0,\"expected\":\"" CONTEXT
                  "\",\"fs_group\":null,\"job\":7,\"matches\":false,\"selinux_mode\":null,\"target\":null,\"text\":\"2 of 31250 differ.\",\"volume\":\"pvc-1\"}]}" },

        { "jobs/table",
          "jobs",
          { { OBJECTS, "GetManagedObjects", "()", JOBS } },
          0,
          .out = "ID OPERATION VOLUME  STATE   DONE TOTAL PERCENT RATE ETA RESULT\n"
                 "7  verify    /té\\x1b ended   0    0     -       -    -   TimedOut\n"
                 "10 relabel   pvc-1   running 500  2000  25      100  -   -\n\n2 jobs listed.\n" },
        { "jobs/none",
          "jobs --no-legend",
          { { OBJECTS, "GetManagedObjects", "()", "(@a{oa{sa{sv}}} {},)" } },
          0,
          .out = "" },
        { "jobs/json",
          "jobs --json",
          { { OBJECTS, "GetManagedObjects", "()", JOBS } },
          0,
          .json = "{\"jobs\":[{\"changed\":0,\"context\":null,\"done\":0,\"error\":\"Slow.\",\"eta\":0,"
                  "\"expected_end_usec\":0,\"failed\":0,\"id\":7,\"operation\":\"verify\",\"percent\":0,\"rate\":0,"
                  "\"result\":\"TimedOut\",\"started_usec\":0,\"state\":\"ended\",\"total\":0,\"volume\":"
                  "\"/t\\u00e9\\u001b\"},{\"changed\":5,\"context\":\"" CONTEXT
                  "\",\"done\":500,\"error\":null,\"eta\":0,\"expected_end_usec\":1767225600000000,\"failed\":0,"
                  "\"id\":10,\"operation\":\"relabel\",\"percent\":25,\"rate\":100,\"result\":null,"
                  "\"started_usec\":1767225600000000,\"state\":\"running\",\"total\":2000,\"volume\":\"pvc-1\"}]}" },

        { "cancel/cancelled",
          "cancel 7",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', {'Error': <'x'>, 'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 2>})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .out = "Job 7 is cancelled: 300 entries were looked at, 2 changed.\n" },
        { "cancel/ended",
          "cancel 7",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('done', @a{sv} {})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .out = "Job 7 was not cancelled: it has ended, with the result done.\n" },
        { "cancel/json",
          "cancel 7 --json",
          { { MANAGER, "GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)" },
            WAIT("('Canceled', {'EntriesDone': <uint64 0>})"),
            { JOB7, JOB, "Cancel", "()", "()" } },
          0,
          .json = "{\"cancel\":[{\"cancelled\":true,\"entries_changed\":0,\"entries_done\":0,\"id\":7,"
                  "\"result\":\"Canceled\"}]}" },
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
          .err = "selvolctl: pvc-1: a job has a number, see 'selvolctl jobs'\n" },
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

        g_assert_cmpstr(out, ==, "Volume pvc-1 is relabelled: 300 entries, 250 changed, in 402ms. " UNKNOWN "\n");
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

/* A job that is over soon, or that nobody wants to see, leaves no trace. */
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

/* Calls that take long show the job that they have become, and none of another volume or operation. */
static const struct {
        const char *command, *operation;
        Exchange call;
} calls[] = {
        { "mount pvc-1 /dev/vdb /t",
          "mount",
          { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})" } },
        { "adopt pvc-1 /t",
          "adopt",
          { MANAGER, "AdoptVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})" } },
        { "verify pvc-1 --depth full",
          "verify",
          { MANAGER, "VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", "(true, '', @a{sv} {})" } },
};

static void answer_properties(Fixture *f, const char *path, const char *operation, const char *volume, int id) {
        g_autofree char *reply = g_strdup_printf(
                "({'Id': <uint64 %i>, 'Operation': <'%s'>, 'Volume': <'%s'>, 'State': <'running'>, 'EntriesDone': "
                "<uint64 %i1>, 'EntriesTotal': <uint64 100>},)",
                id, operation, volume, id);
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
        answer_properties(f, JOB6, "relabel", "pvc-1", 6);
        emit_changed(call, JOB6, "{'EntriesDone': <uint64 60>, 'EntriesTotal': <uint64 100>}");
        emit_changed(call, JOB7, "{'EntriesDone': <uint64 70>, 'EntriesTotal': <uint64 100>}");
        answer_properties(f, JOB7, calls[i].operation, "pvc-1", 7);
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
                t.output->str, "7/8\r\033[Kselvolctl: pvc-1: job 7 goes on; 'selvolctl cancel 7' ends it\r\n"));
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
        g_assert_cmpstr(err, ==, "selvolctl: pvc-1: selvold goes on with it, see 'selvolctl jobs'\n");
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

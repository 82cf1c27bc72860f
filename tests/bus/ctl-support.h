/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <libglib-testing/dbus-queue.h>

#include "support/cases.h"

/* selvolctl calls a mock of org.selvol1 on a private bus. */

enum { EXCHANGES_MAX = 4 };

#define MANAGER    "/org/selvol1", "org.selvol1.Manager"
#define OBJECTS    "/org/selvol1", "org.freedesktop.DBus.ObjectManager"
#define PVC1       "/org/selvol1/volume/pvc_2d1"
#define PROPERTIES PVC1, "org.freedesktop.DBus.Properties"
#define JOB6       "/org/selvol1/job/6"
#define JOB7       "/org/selvol1/job/7"
#define CONTEXT    "system_u:object_r:container_file_t:s0:c0,c10"
#define NO_OPTIONS "@a{sv} {}"

/* The exchanges of a case; those with the manager are of these kinds. */
#define CALLS(...) \
        { __VA_ARGS__ }
#define CALL(method, arguments, reply) \
        { MANAGER, method, arguments, reply }
#define FAIL(method, arguments, error, message) \
        { MANAGER, method, arguments, NULL, error, message }

/* Questions of selvolctl; the last arguments are the reply, or NULL, the error and its message. */
#define GET_OBJECTS(...) \
        { OBJECTS, "GetManagedObjects", "()", __VA_ARGS__ }
#define NO_OBJECTS GET_OBJECTS("(@a{oa{sa{sv}}} {},)")
#define GET_MANAGER(...) \
        { "/org/selvol1", "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Manager',)", __VA_ARGS__ }
#define GET_OF_MANAGER(property, reply) \
        { "/org/selvol1", "org.freedesktop.DBus.Properties", "Get", "('org.selvol1.Manager', '" property "')", reply }
#define GET_PVC1 CALL("GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)")
#define GET_PROPERTIES(properties) \
        { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "(" properties ",)" }

#define JOB      "org.selvol1.Job"
#define DBUS_JOB JOB7, "org.freedesktop.DBus.Properties"
#define RELABEL  CALL("Relabel", "('pvc-1', '', " NO_OPTIONS ")", "(objectpath '" JOB7 "',)")
#define WAIT(answer) \
        { JOB7, JOB, "Wait", "()", answer }

#define WALKED                                                                                   \
        "'DurationUSec': <uint64 402113>, 'Relabel': <'walked'>, 'RelabelReason': <'unknown'>, " \
        "'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>"
#define DONE "('done', {" WALKED "})"
#define DONE_TEXT                                                                                     \
        "         Volume: pvc-1\n            Job: 7\n         Result: done\n       Duration: 402ms\n" \
        "        Relabel: walked\n Relabel reason: unknown\n        Entries: 300\nEntries changed: 250\n"

/* selvolctl must make the call, and gets the answer. */
typedef struct Exchange {
        const char *path, *interface, *method;
        const char *arguments; /* as GVariant text */
        const char *reply;     /* as GVariant text with all types; NULL: the answer is the error */
        const char *error, *message;
} Exchange;

typedef struct Case {
        const char *name;
        const char *command;
        Exchange exchanges[EXCHANGES_MAX];
        int code;
        const char *out;     /* the whole standard output; NULL: none, or json */
        const char *err;     /* the whole standard error; NULL: none */
        const char *json;    /* standard output as JSON, in compact form with sorted keys */
        const char *journal; /* RECORD()s; NULL: there is no journal */
} Case;

/* A record of the journal, in the form of systemd-journal-remote(8), has a time in microseconds, a unit, and
 * further "FIELD=value\n". */
#define RECORD(usec, unit, fields)                                                                            \
        "__REALTIME_TIMESTAMP=" usec "\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID=ad0f4a1e3b5c4d6e8f7a9b0c1d2e3f40\n" \
        "_SYSTEMD_UNIT=" unit "\n" fields "\n"
#define NO_RECORDS RECORD("1", "other.service", "MESSAGE=x\n")

typedef struct Fixture {
        GtDBusQueue *queue;
        guint name_id;
        char *journal; /* a directory of journals for selvolctl */
} Fixture;

void fixture_set_up(Fixture *f, gconstpointer data);
void fixture_tear_down(Fixture *f, gconstpointer data);
void release_name(Fixture *f);

/* Starts selvolctl with a command line, and standard output in a pipe. Standard error goes to err, which the
 * function closes, or into a pipe if err is -1. */
GSubprocess *ctl_start(const char *command, int err);
/* Waits for the next call, which must be that of the exchange. */
GDBusMethodInvocation *await_call(Fixture *f, const Exchange *x);
/* Sends the answer of the exchange. */
void answer_call(GDBusMethodInvocation *call, const Exchange *x);
/* Waits for the call of each exchange and answers it, up to an exchange without a method. */
void serve_calls(Fixture *f, const Exchange *exchanges, size_t n);

/* Asserts that a text is JSON, which is as expected in compact form with sorted keys. */
void check_json(const char *text, const char *expected);
/* Writes a journal with these records for selvolctl. */
void write_journal(Fixture *f, const char *records);
/* Runs the command of a Case, which is data. */
void test_case(Fixture *f, gconstpointer data);
/* The same, and the program gets its last answer after a flood of signals, of which it keeps none. */
void test_flooded_case(Fixture *f, gconstpointer data);
#define add_ctl_rows(prefix, rows, function) \
        add_fixture_rows(prefix, Fixture, rows, fixture_set_up, function, fixture_tear_down)

/* selvolctl runs on a terminal; output is all that it has written there. */
typedef struct Terminal {
        GSubprocess *child;
        int fd;
        GString *output;
} Terminal;

/* Start selvolctl with standard error on the terminal, or standard output; the other one goes into a pipe. */
void terminal_start(Terminal *t, const char *command, unsigned short columns);
void terminal_start_output(Terminal *t, const char *command, unsigned short columns);
void terminal_await(Terminal *t, const char *text);
/* Reads what there is, or waits for a moment. Returns FALSE at the end. */
gboolean terminal_read(Terminal *t);
/* Reads to the end, and returns what standard output had in the pipe. */
char *terminal_finish(Terminal *t);
void terminal_done(Terminal *t);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Terminal, terminal_done)

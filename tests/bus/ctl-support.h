/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <libglib-testing/dbus-queue.h>

#include "support/cases.h"

/* A mock of org.selvol1 on a bus of its own, and selvolctl in front of it. */

enum { EXCHANGES_MAX = 4 };

#define MANAGER    "/org/selvol1", "org.selvol1.Manager"
#define OBJECTS    "/org/selvol1", "org.freedesktop.DBus.ObjectManager"
#define PVC1       "/org/selvol1/volume/pvc_2d1"
#define PROPERTIES PVC1, "org.freedesktop.DBus.Properties"
#define JOB6       "/org/selvol1/job/6"
#define JOB7       "/org/selvol1/job/7"
#define CONTEXT    "system_u:object_r:container_file_t:s0:c0,c10"
#define NO_OPTIONS "@a{sv} {}"

#define JOB      "org.selvol1.Job"
#define DBUS_JOB JOB7, "org.freedesktop.DBus.Properties"
#define RELABEL \
        { MANAGER, "Relabel", "('pvc-1', '', " NO_OPTIONS ")", "(objectpath '" JOB7 "',)" }
#define WAIT(answer) \
        { JOB7, JOB, "Wait", "()", answer }

#define WALKED                                                                                   \
        "'DurationUSec': <uint64 402113>, 'Relabel': <'walked'>, 'RelabelReason': <'unknown'>, " \
        "'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>"
#define DONE "('done', {" WALKED "})"
#define DONE_TEXT                                                                                     \
        "         Volume: pvc-1\n            Job: 7\n         Result: done\n       Duration: 402ms\n" \
        "        Relabel: walked\n Relabel reason: unknown\n        Entries: 300\nEntries changed: 250\n"

/* One call that selvolctl must make, and the answer that it gets. */
typedef struct Exchange {
        const char *path, *interface, *method;
        const char *arguments; /* as GVariant text */
        const char *reply;     /* likewise, with its type in full; NULL: the error */
        const char *error, *message;
} Exchange;

typedef struct Case {
        const char *name;
        const char *command;
        Exchange exchanges[EXCHANGES_MAX];
        int code;
        const char *out;     /* all of standard output; NULL: nothing, but for json */
        const char *err;     /* all of standard error; NULL: nothing */
        const char *json;    /* standard output as JSON, in compact form with sorted keys */
        const char *journal; /* RECORD()s; NULL: none is kept */
} Case;

/* A record of the journal, in the form of systemd-journal-remote(8): microseconds, the unit,
 * "FIELD=value\n" of others. */
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

/* Starts selvolctl with a command line, standard output in a pipe; standard error goes to err, which is
 * taken over, or into a pipe if that is -1. */
GSubprocess *ctl_start(const char *command, int err);
/* Waits for the next call, which must be that of the exchange. */
GDBusMethodInvocation *await_call(Fixture *f, const Exchange *x);
/* Answers it as the exchange says. */
void answer_call(GDBusMethodInvocation *call, const Exchange *x);
/* Both for each, up to one without a method. */
void serve_calls(Fixture *f, const Exchange *exchanges, size_t n);

/* Asserts what a text, which is JSON, is in compact form with sorted keys. */
void check_json(const char *text, const char *expected);
/* Has selvolctl find these records. */
void write_journal(Fixture *f, const char *records);
/* data is a Case. */
void test_case(Fixture *f, gconstpointer data);
#define add_ctl_rows(prefix, rows, function) \
        add_fixture_rows(prefix, Fixture, rows, fixture_set_up, function, fixture_tear_down)

/* selvolctl on a terminal, and what it has written there. */
typedef struct Terminal {
        GSubprocess *child;
        int fd;
        GString *output;
} Terminal;

/* With standard error there, or standard output; the other one goes into a pipe. */
void terminal_start(Terminal *t, const char *command, unsigned short columns);
void terminal_start_output(Terminal *t, const char *command, unsigned short columns);
void terminal_await(Terminal *t, const char *text);
/* Reads what there is, or waits a little. FALSE at the end. */
gboolean terminal_read(Terminal *t);
/* Reads to the end. Returns what went into the pipe to standard output. */
char *terminal_finish(Terminal *t);
void terminal_done(Terminal *t);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Terminal, terminal_done)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <libglib-testing/dbus-queue.h>

/* A mock of org.selvol1 on a bus of its own, and selvolctl in front of it. */

enum { EXCHANGES_MAX = 3 };

#define MANAGER    "/org/selvol1", "org.selvol1.Manager"
#define OBJECTS    "/org/selvol1", "org.freedesktop.DBus.ObjectManager"
#define PVC1       "/org/selvol1/volume/pvc_2d1"
#define PROPERTIES PVC1, "org.freedesktop.DBus.Properties"
#define JOB6       "/org/selvol1/job/6"
#define JOB7       "/org/selvol1/job/7"
#define CONTEXT    "system_u:object_r:container_file_t:s0:c0,c10"
#define NO_OPTIONS "@a{sv} {}"

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
        const char *out;  /* all of standard output; NULL: anything */
        const char *err;  /* all of standard error; NULL: nothing */
        const char *json; /* standard output as JSON, in compact form with sorted keys */
} Case;

typedef struct Fixture {
        GtDBusQueue *queue;
        guint name_id;
} Fixture;

void fixture_set_up(Fixture *f, gconstpointer data);
void fixture_tear_down(Fixture *f, gconstpointer data);
/* Gives the queue's thread the time to see the signal NameLost: gt_dbus_queue_free() insists on that. */
void release_name(Fixture *f);

/* Starts selvolctl with a command line, standard output in a pipe; standard error goes to err, which is taken over,
 * or into a pipe if that is -1. */
GSubprocess *ctl_start(const char *command, int err);
/* Waits for the next call, which must be that of the exchange. */
GDBusMethodInvocation *await_call(Fixture *f, const Exchange *x);
/* Answers it as the exchange says. */
void answer_call(GDBusMethodInvocation *call, const Exchange *x);

/* Asserts what a text, which is JSON, is in compact form with sorted keys. */
void check_json(const char *text, const char *expected);
/* data is a Case. */
void test_case(Fixture *f, gconstpointer data);

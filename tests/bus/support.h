/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <libglib-testing/dbus-queue.h>

#include "support/cases.h"
#include "support/service.h"
#include "support/wait.h"

/* How the caller stands: as root, who passes, or as somebody whom polkit has to vouch for. */
typedef enum Caller { CALLER_ROOT, CALLER_OTHER } Caller;

/* One test: a private bus, a fake worker, selvold, and polkit in the hands of the test. The client connection of the
 * queue is the caller. */
typedef struct Fixture {
        GtDBusQueue *queue; /* owns org.freedesktop.PolicyKit1 unless the test says otherwise */
        guint polkit_name;
        GDBusConnection *client;
        char *directory;
        char *worker_socket;
        GPid worker, daemon;
        Caller caller;
        gboolean freezable;        /* to be set before it starts: see store_freeze() */
        const char *notify_socket; /* likewise; $NOTIFY_SOCKET of selvold, NULL: none */
        gboolean logged;           /* likewise; what selvold logs goes to DIRECTORY/log */
        const char *polkit_sec;    /* likewise; selvold waits that long for polkit, NULL: as always */
        const char *bus_sec; /* likewise; sd-bus waits that long where it is not told how long, NULL: as always */
} Fixture;

void fixture_start(Fixture *f, Caller caller, gboolean with_polkit);
void fixture_stop(Fixture *f);
/* The same as functions of a test: for root, without polkit; and for somebody else, with it. */
void fixture_set_up(Fixture *f, gconstpointer data);
void fixture_set_up_other(Fixture *f, gconstpointer data);
void fixture_tear_down(Fixture *f, gconstpointer data);
void daemon_start(Fixture *f);
/* Ends it: SIGTERM, and the exit status must be 0; or SIGKILL. */
void daemon_stop(Fixture *f, int signal_number);
/* Whether it can't write to any file, as if the disk were full. */
void daemon_limit(Fixture *f, gboolean limited);
/* From now on nothing gets on disk, without an error, or with EIO; until it is thawed. */
void store_freeze(Fixture *f);
void store_break(Fixture *f);
void store_thaw(Fixture *f);
void worker_start(Fixture *f);
void worker_stop(Fixture *f);
/* How many connections are being served; one of them is the watch of the mount table. */
gsize worker_count_children(Fixture *f);
/* Waits until all jobs have looked, and for some time no child comes back. */
void worker_wait_idle(Fixture *f, guint ms);

/* A caller with a connection of its own. */
Fixture other_caller(const Fixture *f);
void close_caller(Fixture *other);
/* The same, and selvold has been told of it. */
void leave(Fixture *other, Fixture *f);

/* Starts a call of the manager. */
GAsyncResult *call_start(Fixture *f, const char *method, GVariant *arguments);
/* The same of any object and interface. */
GAsyncResult *call_start_at(Fixture *f, const char *path, const char *interface, const char *method,
                            GVariant *arguments);
/* Waits for the end of it. Returns the reply, or NULL with *error. */
GVariant *call_end(Fixture *f, GAsyncResult *result, GError **error);
/* Whether the answer is there, so that call_end() would not wait. */
gboolean call_has_ended(GAsyncResult *result);
/* Waits for the reply of a call that has to succeed. */
GVariant *expect_reply(Fixture *f, GAsyncResult *pending);
/* The call has to fail with org.selvol1.Error.KIND, or KIND if that has dots, and a message that holds the text. */
void expect_error(Fixture *f, GAsyncResult *pending, const char *kind, const char *text);
/* The same of an error that is there, which it frees. */
void assert_error(GError *error, const char *kind, const char *text);
/* The whole name of such an error, to be freed. */
char *error_name(const char *kind);
/* How many of the calls are refused with LimitReached, and a message that holds the text; the others fail with that
 * error, or succeed, NULL. */
guint count_refused(Fixture *f, GAsyncResult *const *calls, gsize n, const char *text, const char *others);

/* Calls that many tests make; options are text of type a{sv}, for example "{'ReadOnly': <true>}". */
GVariant *mount_arguments(const char *volume, const char *source, const char *target, const char *options);
GAsyncResult *start_mount(Fixture *f, const char *volume, const char *source, const char *target,
                          const char *options);
/* Without waiting for an answer, as a bus limits for how many one connection may wait. */
void send_mount(Fixture *f, const char *volume, const char *source, const char *target, const char *options);
GAsyncResult *start_unmount(Fixture *f, const char *volume, const char *target);
/* expected: whether there was something to unmount. */
void end_unmount(Fixture *f, GAsyncResult *pending, gboolean expected);
/* Both have to succeed. */
void mount_volume(Fixture *f, const char *volume, const char *source, const char *target, const char *options);
void unmount_volume(Fixture *f, const char *volume, const char *target);
/* Returns the job's path, to be freed. */
char *start_relabel(Fixture *f, const char *volume, const char *context);

/* A string as it is, and all else as GVariant text. */
char *to_text(GVariant *value);
/* A property of any object of the service as text, and of the volume with the encoded id. */
char *get_text(Fixture *f, const char *path, const char *interface, const char *property);
char *get_volume_text(Fixture *f, const char *element, const char *property);
/* NULL if there is no such volume. */
char *get_volume_text_or_null(Fixture *f, const char *element, const char *property);
gboolean is_recorded(Fixture *f, const char *volume);
/* Of the volume with the encoded id; aa{sv}. */
GVariant *get_holders(Fixture *f, const char *element);
gsize count_holders(Fixture *f, const char *element);

/* Job.Wait: asserts the result. Returns the details. */
GVariant *job_wait(Fixture *f, const char *job, const char *result);
/* Until the job, the n-th since the start, is shown with that state: one in line, or one that walks. */
void wait_for_job(Fixture *f, guint n, const char *state);
/* A string, or a number, of a dictionary; asserts that it is there. */
const char *get_string(GVariant *dictionary, const char *key);
guint64 get_number(GVariant *dictionary, const char *key);

/* The call that polkit has been sent; waits until there is one. */
GDBusMethodInvocation *polkit_pop(Fixture *f);
void polkit_answer(GDBusMethodInvocation *question, gboolean authorized, gboolean challenge);
/* The reply of a call that polkit allows. */
GVariant *expect_allowed(Fixture *f, GAsyncResult *pending);

/* The pretended mount table as text. */
char *mount_table(Fixture *f);
gsize count_mounts(Fixture *f);
gboolean is_mounted(Fixture *f, const char *target);
/* A file of the test, as fake-worker.c has them. */
char *file_path(const Fixture *f, const char *name);
void write_file(Fixture *f, const char *name, const char *text);
/* "" if it isn't there. */
char *read_file(Fixture *f, const char *name);
/* The metrics, in which no value is in no table. */
char *get_metrics(Fixture *f);
/* The metrics have a line that begins so. */
void assert_metric(Fixture *f, const char *line);
/* The value of a series, which is there. */
double read_metric(Fixture *f, const char *series);
/* All lines with this beginning, of which there are some, have the value 0. */
void assert_metrics_zero(Fixture *f, const char *prefix);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <libglib-testing/dbus-queue.h>

#include "support/cases.h"
#include "support/service.h"
#include "support/wait.h"

#define T1  "/var/lib/kubelet/pods/a/volumes/v"
#define T2  "/var/lib/kubelet/pods/b/volumes/v"
#define T3  "/var/lib/kubelet/pods/c/volumes/v"
#define OVM "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"

/* selvold does not ask polkit about root, and asks about all others. */
typedef enum Caller { CALLER_ROOT, CALLER_OTHER } Caller;

/* Each test has a private bus, a fake worker and selvold, and plays polkit itself. The caller is the client
 * connection of the queue. */
typedef struct Fixture {
        GtDBusQueue *queue; /* owns org.freedesktop.PolicyKit1 unless the test says otherwise */
        guint polkit_name;
        GDBusConnection *client;
        char *directory;
        char *worker_socket;
        GPid worker, daemon;
        Caller caller;
        /* A test sets these before the start. */
        gboolean freezable;        /* store_freeze() is possible */
        const char *notify_socket; /* $NOTIFY_SOCKET of selvold; NULL: none */
        gboolean logged;           /* selvold logs to DIRECTORY/log */
        const char *polkit_sec;    /* selvold waits so long for polkit; NULL: the default */
        const char *bus_sec;       /* the default time-out of sd-bus; NULL: sd-bus' own */
} Fixture;

void fixture_start(Fixture *f, Caller caller, gboolean with_polkit);
void fixture_stop(Fixture *f);
/* Start and stop the fixture of a test: for root without polkit, or for another caller with polkit. */
void fixture_set_up(Fixture *f, gconstpointer data);
void fixture_set_up_other(Fixture *f, gconstpointer data);
void fixture_tear_down(Fixture *f, gconstpointer data);
void daemon_start(Fixture *f);
/* Sends SIGTERM, after which the exit status must be 0, or SIGKILL, and waits for the end. */
void daemon_stop(Fixture *f, int signal_number);
/* Lets selvold write to no file, as if the disk were full, or lets it write again. */
void daemon_limit(Fixture *f, gboolean limited);
/* Until the thaw nothing gets on disk: writes wait, or fail with EIO if error is "EIO" instead of "". */
void store_freeze(Fixture *f, const char *error);
void store_thaw(Fixture *f);
void worker_start(Fixture *f);
void worker_stop(Fixture *f);
/* Counts the connections that the worker serves; one of them is the watch of the mount table. */
gsize worker_count_children(Fixture *f);
/* Waits until only the watch has had a child for so long. */
void worker_wait_idle(Fixture *f, guint ms);

/* Returns a caller with a connection of its own. */
Fixture other_caller(const Fixture *f);
void close_caller(Fixture *other);
/* A bus lets no connection wait for more than 128 replies, so many calls need several callers. */
void open_callers(const Fixture *f, Fixture *callers, gsize n);
void close_callers(Fixture *callers, gsize n);
/* Closes the caller, and waits until selvold knows that. */
void leave(Fixture *other, Fixture *f);

/* Starts a call of the manager. */
GAsyncResult *call_start(Fixture *f, const char *method, GVariant *arguments);
/* Starts a call of any object and interface. */
GAsyncResult *call_start_at(Fixture *f, const char *path, const char *interface, const char *method,
                            GVariant *arguments);
/* Starts a call of the manager, with so many descriptors beside the arguments. */
GAsyncResult *call_start_with_descriptors(Fixture *f, const char *method, GVariant *arguments, guint n);
/* Waits for the end of a call. Returns the reply, or NULL with *error. */
GVariant *call_end(Fixture *f, GAsyncResult *result, GError **error);
/* Returns whether call_end() would not wait. */
gboolean call_has_ended(GAsyncResult *result);
/* Waits for the reply of a call, which has to succeed. */
GVariant *expect_reply(Fixture *f, GAsyncResult *pending);
/* Waits for the end of a call, which has to fail with org.selvol1.Error.KIND, or with KIND if that has dots,
 * and with a message that holds the text. */
void expect_error(Fixture *f, GAsyncResult *pending, const char *kind, const char *text);
/* Asserts that the error is of that kind and holds the text; frees it. */
void assert_error(GError *error, const char *kind, const char *text);
/* Returns the whole name of such an error, which the caller frees. */
char *error_name(const char *kind);
/* Waits for the calls, and returns how many are refused with LimitReached and a message that holds the text.
 * The other calls have to fail with the error, or to succeed if it is NULL. */
guint count_refused(Fixture *f, GAsyncResult *const *calls, gsize n, const char *text, const char *others);

/* Returns an id that a caller who is not trusted may introduce, too. The string is interned. */
const char *own_id(const char *name);

/* These calls take options as text of type a{sv}, for example "{'ReadOnly': <true>}". */
GVariant *mount_arguments(const char *volume, const char *source, const char *target, const char *options);
GAsyncResult *start_mount(Fixture *f, const char *volume, const char *source, const char *target,
                          const char *options);
/* Sends a call that wants no answer, as a bus limits for how many answers one connection may wait. */
void send_mount(Fixture *f, const char *volume, const char *source, const char *target, const char *options);
GAsyncResult *start_unmount(Fixture *f, const char *volume, const char *target);
/* Waits for the answer, which has to tell as expected whether something was unmounted. */
void end_unmount(Fixture *f, GAsyncResult *pending, gboolean expected);
/* Call and wait for the answer, which has to be success. */
void mount_volume(Fixture *f, const char *volume, const char *source, const char *target, const char *options);
void unmount_volume(Fixture *f, const char *volume, const char *target);
/* Returns the path of the job, which the caller frees. */
char *start_relabel(Fixture *f, const char *volume, const char *context);

/* Returns a string as it is, and other types as GVariant text. */
char *to_text(GVariant *value);
/* Return a property as text: of any object of selvold's, or of the volume with the encoded id; NULL if there
 * is no such object. */
char *get_text(Fixture *f, const char *path, const char *interface, const char *property);
char *get_volume_text(Fixture *f, const char *element, const char *property);
/* Returns the holders of the volume with the encoded id, as aa{sv}. */
GVariant *get_holders(Fixture *f, const char *element);
gsize count_holders(Fixture *f, const char *element);

/* Calls Job.Wait, asserts the result, and returns the details. */
GVariant *job_wait(Fixture *f, const char *job, const char *result);
/* Waits until the n-th job since the start has that state. selvold shows only queued jobs and jobs that
 * walk. */
void wait_for_job(Fixture *f, guint n, const char *state);
/* Return a value of a dictionary, and assert that it is there. */
const char *get_string(GVariant *dictionary, const char *key);
guint64 get_number(GVariant *dictionary, const char *key);

/* Waits until selvold has asked polkit, and returns the call. */
GDBusMethodInvocation *polkit_pop(Fixture *f);
void polkit_answer(GDBusMethodInvocation *question, gboolean authorized, gboolean challenge);
/* Lets polkit allow the call, and returns the reply. */
GVariant *expect_allowed(Fixture *f, GAsyncResult *pending);

/* Returns the mount table of the fake worker as text. */
char *mount_table(Fixture *f);
gsize count_mounts(Fixture *f);
gboolean is_mounted(Fixture *f, const char *target);
/* fake-worker.c describes the files of a test. */
char *file_path(const Fixture *f, const char *name);
void write_file(Fixture *f, const char *name, const char *text);
/* Returns "" if there is no such file. */
char *read_file(Fixture *f, const char *name);
/* Returns the metrics, and asserts that all values of labels are in tables. */
char *get_metrics(Fixture *f);
/* Asserts that a line of the metrics begins with this. */
void assert_metric(Fixture *f, const char *line);
/* Returns the value of a series, and asserts that it is there. */
double read_metric(Fixture *f, const char *series);
/* Asserts that there are lines with this beginning, and that all have the value 0. */
void assert_metrics_zero(Fixture *f, const char *prefix);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "ctl/args.h"
#include "ctl/table.h"

/* Talking to org.selvol1. */

#define SERVICE           "org.selvol1"
#define MANAGER_PATH      "/org/selvol1"
#define MANAGER_INTERFACE "org.selvol1.Manager"
#define VOLUME_INTERFACE  "org.selvol1.Volume"
#define JOB_INTERFACE     "org.selvol1.Job"
#define JOB_PREFIX        "/org/selvol1/job"
#define ERROR_PREFIX      "org.selvol1.Error."

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)

/* How long to wait for an answer: the bus library's time, or as long as the service, which has a limit of its own
 * (and perhaps a person to ask for a password), takes. */
typedef enum Patience { ANSWER_SOON, ANSWER_WHEN_DONE } Patience;

/* Connects to the system bus. Returns 0, or EXIT_FAILURE after saying what is wrong. */
int bus_open(const Args *a, sd_bus **ret) _warn_unused_;

int bus_new_call(sd_bus *bus, const char *path, const char *interface, const char *method,
                 sd_bus_message **ret) _warn_unused_;

/* Appends the a{sv} of those options that were given on the command line. */
int bus_append_options(sd_bus_message *m, const Args *a) _warn_unused_;

/* Calls and waits. Returns 0; a positive exit code after saying "selvolctl: SUBJECT: what is wrong"; or an errno. */
int bus_call(sd_bus *bus, sd_bus_message *m, const char *subject, Patience patience,
             sd_bus_message **ret) _warn_unused_;

/* Says "selvolctl: SUBJECT: MESSAGE", both harmless to a terminal. The message may have escaped bytes in it already.
 */
void report_error(const char *subject, const char *message);
/* The same of what is no error. */
void report_note(const char *subject, const char *message);
/* Says what is wrong by an error of the bus. Returns the exit code for it. */
int report_bus_error(const char *subject, const sd_bus_error *error);
/* The exit code that stands for a D-Bus error, or for one of the service by the last part of its name. */
int exit_code_of(const char *error_name) _pure_;

/* The number of a job by its object; 0 for any other path. */
uint64_t job_id_of(const char *path);

/* Asked for keys without a column. Returns 1 if it has read the value, 0 to skip it. */
typedef int (*OtherKey)(const char *key, sd_bus_message *m, void *userdata);

/* Adds a row from an a{sv}, each value to the column with its key. */
int bus_read_row(sd_bus_message *m, Table *t, OtherKey other, void *userdata) _warn_unused_;
/* Fills the last row instead of adding one. */
int bus_fill_row(sd_bus_message *m, Table *t, OtherKey other, void *userdata) _warn_unused_;
/* Adds a row for each object of the service with the interface. done, which may be NULL, is called after each. */
int bus_read_objects(sd_bus *bus, const char *interface, Table *t, OtherKey other, int (*done)(Table *t),
                     void *userdata) _warn_unused_;
/* Adds a row for each struct of an array, members to columns in order; the first column is the volume, unless NULL.
 */
int bus_read_structs(sd_bus_message *m, const char *members, const char *volume, Table *t) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "client/client-call.h"
#include "ctl/args.h"

/* Calls of selvold. A function that returns a positive exit code has printed a message. */

#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"

/* Connects to the system bus. start: start selvold if it does not run. Returns 0, an exit code, or a negative
 * errno. */
int bus_open(const Args *a, bool start, sd_bus **ret) _warn_unused_;

/* Whether selvold runs, without starting it. Returns 1 with selvold's name on the bus, which only its own
 * signals have as their sender; 0; or a negative errno. */
int bus_find_service(sd_bus *bus, char **ret_owner) _warn_unused_;

/* Makes a call and waits for the reply. subject is the name for error messages, or NULL. Returns 0, an exit
 * code, or a negative errno. */
int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) _warn_unused_;

/* Like bus_call_method(), but prints nothing. Returns 0, or a negative errno with error set if the service
 * failed. */
int bus_try_method(sd_bus *bus, sd_bus_error *error, sd_bus_message **ret, const char *path, const char *interface,
                   const char *method, const char *types, ...) _warn_unused_;

/* With --json: errors become elements of the array, which the caller prints, so that standard output has one
 * document. */
void bus_collect_errors(const Args *a, json_t *array);

/* Prints a negative errno as an error of the bus. Returns the exit code, or a negative errno. */
int bus_report_errno(const Args *a, int r);

/* Prints an error of the bus. Returns the exit code for it, or a negative errno. */
int bus_report_error(const char *subject, const sd_bus_error *error);

/* Prints an error of selvolctl itself, with a name like those of the bus. Returns the exit code for that
 * name, or a negative errno. */
int report_failure(const Args *a, const char *subject, const char *error_name, const char *text);

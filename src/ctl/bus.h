/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/client-call.h"
#include "ctl/args.h"

/* Calling selvold. Functions that return a positive exit code have said what is wrong. */

#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"

/* Connects to the system bus, and starts selvold if asked to. Returns 0 or EXIT_FAILURE. */
int bus_open(const Args *a, bool start, sd_bus **ret) _warn_unused_;

/* Whether selvold runs, without starting it. Returns 1, 0 or a negative errno. */
int bus_service_is_running(sd_bus *bus) _warn_unused_;

/* Makes a call about subject, which may be NULL, and waits for the answer. Returns 0, an exit code, or a
 * negative errno. */
int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) _warn_unused_;

/* Prints a negative errno as an error of the bus. Returns the exit code, or a negative errno. */
int bus_report_errno(const Args *a, int r);

/* Prints an error of the bus. Returns the exit code for it, or a negative errno. */
int bus_report_error(const char *subject, const sd_bus_error *error);

/* Prints an error that the bus knows nothing of, with a name as the bus has them. Returns the exit code
 * for that name, or a negative errno. */
int report_failure(const Args *a, const char *subject, const char *error_name, const char *text);

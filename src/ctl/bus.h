/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>

#include <systemd/sd-bus.h>

#include "ctl/args.h"
#include "wire/names.h"

/* Calling selvold. Functions that return a positive exit code have said what is wrong. */

#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)

/* Connects to the system bus. Returns 0 or EXIT_FAILURE. */
int bus_open(const Args *a, sd_bus **ret) _warn_unused_;

/* A call with arguments as sd_bus_message_appendv() takes them; types NULL: none. Returns 0 or a negative errno. */
int bus_new_call(sd_bus *bus, sd_bus_message **ret, const char *path, const char *interface, const char *method,
                 const char *types, va_list ap) _warn_unused_;

/* Appends the a{sv} of the options that were given on the command line. Returns 0 or a negative errno. */
int bus_append_options(sd_bus_message *m, const Args *a) _warn_unused_;

/* Makes a call about subject, which may be NULL, and waits for the answer. Returns 0, an exit code, or a negative
 * errno. */
int bus_call_method(sd_bus *bus, const char *subject, sd_bus_message **ret, const char *path, const char *interface,
                    const char *method, const char *types, ...) _warn_unused_;

/* Prints an error of the bus. Returns the exit code for it. */
int bus_report_error(const char *subject, const sd_bus_error *error);
/* The exit code for a D-Bus error, or for one of selvold's by the last part of its name. */
int exit_code_of(const char *error_name) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>

#include "client/values.h"
#include "wire/names.h"

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_error_   _cleanup_(sd_bus_error_free)

/* Calling selvold. Functions that take an error set it whenever they return a negative errno; explain_error()
 * makes a sentence for people of it. */

/* Connects to the system bus, and finds out whether an answer of selvold's would arrive: SELinux can drop
 * answers without telling anybody, and a call would then hang. A selvold that does not run is started for
 * that if asked to, or else it is success. timeout_usec: how long that may take; an answer is waited for ten
 * seconds at most. Returns 0 or a negative errno. */
int call_open(bool start, uint64_t timeout_usec, sd_bus **ret, sd_bus_error *error) _warn_unused_;

/* A call with arguments as sd_bus_message_appendv() takes them; types NULL: none. Returns 0 or a negative
 * errno. */
int call_new(sd_bus *bus, sd_bus_message **ret, const char *path, const char *interface, const char *method,
             const char *types, va_list ap) _warn_unused_;

/* The same of a method of the manager, with the values after the arguments. */
int call_new_request(sd_bus *bus, sd_bus_message **ret, const OptionValue values[static REQUEST_OPTIONS],
                     const char *method, const char *types, va_list ap) _warn_unused_;

/* A member of a dictionary that is a string: its name, and where the value goes. */
typedef struct StringMember {
        const char *name;
        const char **value; /* is left alone if there is none; it belongs to the message */
} StringMember;

/* Reads a dictionary, a{sv}, and of it n members. Returns 1, 0 at the end of an array of dictionaries, or a
 * negative errno. */
int call_read_strings(sd_bus_message *m, const StringMember *members, size_t n) _warn_unused_;

/* Calls a method of the manager, with the values after the arguments, and waits for the answer. timeout_usec:
 * UINT64_MAX waits however long it takes, as selvold keeps to TimeoutUSec; 0 as long as the connection does.
 * Returns 0 or a negative errno. */
int call_manager(sd_bus *bus, const OptionValue values[static REQUEST_OPTIONS], uint64_t timeout_usec,
                 sd_bus_message **ret, sd_bus_error *error, const char *method, const char *types, ...) _warn_unused_;

/* --- errors in words --- */

/* Texts of selvold and of the bus, for somebody who typed the options. selvold writes the name of an option
 * in double quotes, and nothing else is replaced: pass "SELinuxLevel" becomes pass --level with the prefix
 * "--", or pass level where options have none. Both return a new string, NULL on lack of memory. */
char *explain_text(const char *prefix, const char *text) _warn_unused_;

/* An error, with what to do about it on this node. */
char *explain_error(const char *prefix, const char *name, const char *message) _warn_unused_;

/* Whether the error says that selvold does not run, or that there is no bus yet. */
bool explain_is_absent(const char *name) _pure_;

/* Whether the error (NULL: none) says that the target is beneath none of TargetRoots=, and that selvold has
 * mounted nothing there: what unmounts it then is done. It may have been beneath one. */
bool explain_is_outside(const char *name) _pure_;

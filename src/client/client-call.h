/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>

#include "client/values.h"
#include "wire/names.h"

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_error_   _cleanup_(sd_bus_error_free)

/* Calls of selvold. Functions with an error argument set it whenever they return a negative errno;
 * explain_error() turns it into a sentence for people. */

/* Connects to the system bus, and checks that replies of selvold arrive: SELinux can drop a reply without
 * telling anybody, and a call would then hang. start: start selvold for the check; if false, a selvold that
 * does not run is a success. timeout_usec: the limit for all of this; for a reply the function waits ten
 * seconds at most. Returns 0 or a negative errno. */
int call_open(bool start, uint64_t timeout_usec, sd_bus **ret, sd_bus_error *error) _warn_unused_;

/* Makes a call with arguments as for sd_bus_message_appendv(); types NULL: none. Returns 0 or a negative
 * errno. */
int call_new(sd_bus *bus, sd_bus_message **ret, const char *path, const char *interface, const char *method,
             const char *types, va_list ap) _warn_unused_;

/* Makes a call of a method of the manager, with the values after the arguments. Returns 0 or a negative
 * errno. */
int call_new_request(sd_bus *bus, sd_bus_message **ret, const OptionValue values[static REQUEST_OPTIONS],
                     const char *method, const char *types, va_list ap) _warn_unused_;

/* A string member of a dictionary: its name, and the place for its value. */
typedef struct StringMember {
        const char *name;
        const char **value; /* unchanged if the member is missing; the message owns the string */
} StringMember;

/* Reads n members of a dictionary (a{sv}) and skips the others. Returns 1, 0 at the end of an array of
 * dictionaries, or a negative errno. */
int call_read_strings(sd_bus_message *m, const StringMember *members, size_t n) _warn_unused_;

/* Calls a method of the manager, with the values after the arguments, and waits for the reply. timeout_usec:
 * UINT64_MAX waits without a limit, because selvold keeps to TimeoutUSec; 0 uses the connection's time-out.
 * Returns 0 or a negative errno. */
int call_manager(sd_bus *bus, const OptionValue values[static REQUEST_OPTIONS], uint64_t timeout_usec,
                 sd_bus_message **ret, sd_bus_error *error, const char *method, const char *types, ...) _warn_unused_;

/* --- errors in words --- */

/* Adapts a text of selvold or the bus to a person who typed the options: replaces the names of options, which
 * selvold writes in double quotes. pass "SELinuxLevel" becomes pass --level with the prefix "--", or pass
 * level with "". Returns a new string, NULL on lack of memory. */
char *explain_text(const char *prefix, const char *text) _warn_unused_;

/* Describes an error, and what to do about it on this node. Returns a new string, NULL on lack of memory. */
char *explain_error(const char *prefix, const char *name, const char *message) _warn_unused_;

/* Whether the error says that selvold does not run, or that there is no bus yet. */
bool explain_is_absent(const char *name) _pure_;

/* Whether the error (NULL: none) of a call about a target says that selvold has no mount there. An unmount
 * has nothing left to do then. The target may have been beneath an earlier root of TargetRoots=. */
bool explain_is_outside(const char *name) _pure_;

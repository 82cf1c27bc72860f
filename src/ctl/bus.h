/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include <jansson.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "basic/cleanup.h"
#include "client/client-call.h"
#include "ctl/answer.h"
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

/* selvold's objects as their properties; unset properties are null. Functions return the same as
 * bus_call_method(). */

/* Finds the path of a volume by an operand: a target if it looks like a path, unless it is the id of
 * --volume=, and otherwise an id. */
int volume_find(sd_bus *bus, const Args *a, const char *operand, char **ret) _warn_unused_;

/* Sets the properties without a value to null. Returns 0 or -ENOMEM. */
int object_clear_unset(json_t *properties) _warn_unused_;

/* Reads the object at a path. */
int object_get(sd_bus *bus, const char *path, const char *interface, const char *subject, json_t **ret) _warn_unused_;

/* Reads all objects by path, with their interfaces; keeps unset properties as they are. */
int objects_read(sd_bus *bus, json_t **ret) _warn_unused_;

/* Makes a call for all objects by path, which neither starts selvold nor lets polkit ask for a password.
 * Returns 0 or a negative errno. */
int objects_call_new(sd_bus *bus, sd_bus_message **ret) _warn_unused_;

/* Reads all objects that have the interface, as an array ordered by Id. */
int objects_get(sd_bus *bus, const char *interface, json_t **ret) _warn_unused_;

/* Reads all volumes, and all their holders in one array. */
int volumes_get(sd_bus *bus, json_t **ret, json_t **ret_holders) _warn_unused_;

/* Read properties of a unit from systemd. interface is the last word of the interface with the property:
 * Unit, Service. */

/* Returns NULL if systemd does not reply, or on lack of memory. */
char *unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property) _warn_unused_;
/* Returns 0 if systemd does not reply. */
uint64_t unit_get_number(sd_bus *bus, const char *unit, const char *interface, const char *property);
/* Returns "enabled", "masked" and the like; NULL if systemd does not reply, or on lack of memory. */
char *unit_get_file_state(sd_bus *bus, const char *unit) _warn_unused_;

/* Makes an event loop with the bus. SIGINT and SIGTERM call on_signal and do not end the program. Returns 0
 * or a negative errno. */
int loop_new(sd_bus *bus, sd_event_signal_handler_t on_signal, void *userdata, sd_event **ret) _warn_unused_;

/* Detaches the bus and frees the loop; event may be NULL. */
void loop_free(sd_bus *bus, sd_event *event);

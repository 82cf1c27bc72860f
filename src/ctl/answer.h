/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* selvold's answers as JSON: --json prints them as they are, and all other output is made from them. Names
 * and values are those of D-Bus, but a job's object is its number, "/", which means no object, is null, and
 * the structs of some arrays are objects. */

#define _cleanup_json_ _cleanup_(json_decrefp)

/* Reads the next value of a message, of any type. Returns 0 or a negative errno. */
int answer_read(sd_bus_message *m, json_t **ret) _warn_unused_;

/* Reads the next value and makes it the member key of an object; without a key it is an a{sv}, whose members
 * are added. The structs of arrays become objects. Returns 0 or a negative errno. */
int answer_add(json_t *object, const char *key, sd_bus_message *m) _warn_unused_;

/* A member that is a string; "" if there is none. Belongs to the object. */
const char *answer_string(const json_t *object, const char *key);
/* A member that is a number; 0 if there is none. */
uint64_t answer_number(const json_t *object, const char *key);

/* The number of a job by the path of its object; 0 for any other path. */
uint64_t job_number(const char *path);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* selvold's replies as JSON: --json prints them unchanged, and selvolctl makes all other output from them.
 * Names and values are those of D-Bus, but the path of a job becomes its number, "/" (no object) becomes
 * null, and the structs of some arrays become objects. */

#define _cleanup_json_ _cleanup_(json_decrefp)

/* Reads the next value of a message, of any type. Returns 0 or a negative errno. */
int answer_read(sd_bus_message *m, json_t **ret) _warn_unused_;

/* Reads the next value and makes it the member key of an object; key NULL: the value is an a{sv}, and its
 * members are added. Structs in arrays become objects. Returns 0 or a negative errno. */
int answer_add(json_t *object, const char *key, sd_bus_message *m) _warn_unused_;

/* Returns a string member; "" if there is none. The object owns the string. */
const char *answer_string(const json_t *object, const char *key);
/* Returns a number member; 0 if there is none. */
uint64_t answer_number(const json_t *object, const char *key);

/* Sorts an array; compare gets pointers to the elements' pointers, as qsort(3) does. Returns 0 or -ENOMEM. */
int answer_sort(json_t *array, int (*compare)(const void *a, const void *b)) _warn_unused_;

/* Returns the number of a job from the path of its object; 0 for any other path. */
uint64_t job_number(const char *path);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "basic/cleanup.h"

/* The output of selvold's replies for people: a label and a form for each key, the same for all verbs. */

/* Returns the label of a key, or the key itself. */
const char *field_label(const char *key);

/* Whether a value has text to show: "" and an empty list have none. */
bool field_has_text(const char *key, const json_t *value);

/* Whether values of the key are often long, so that a table may shorten them. */
bool field_is_long(const char *key);
/* Whether values of the key are sentences: a table keeps the beginning of a sentence, but the end of a path
 * or context. */
bool field_is_sentence(const char *key);

/* Formats a value as text that is safe to print. NULL on lack of memory. */
char *field_format(const char *key, const json_t *value) _warn_unused_;

/* Returns the color for a value that needs attention, by its text; NULL for all others. */
const char *field_color(const char *key, const char *text);

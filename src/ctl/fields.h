/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "basic/cleanup.h"

/* How people see what selvold answers: a label and a form for each key, whichever verb prints it. */

/* The label of a key, or the key itself. */
const char *field_label(const char *key);

/* Whether there is anything to show of a value: not of "" or an empty list. */
bool field_has_text(const char *key, const json_t *value);

/* Whether its values are long by nature, so that a table may have to shorten them. */
bool field_is_long(const char *key);
/* Whether they are sentences, of which the beginning says most; of a path or a context that is the end. */
bool field_is_sentence(const char *key);

/* The value as text that is safe to print. NULL on lack of memory. */
char *field_format(const char *key, const json_t *value) _warn_unused_;

/* The color for a value that needs attention, given as text; NULL for all others. */
const char *field_color(const char *key, const char *text);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/args.h"

/* Print selvolctl's output on standard output, in the form that the options ask for: a label and a form for
 * each key of selvold's replies, the same for all verbs. Return 0 or a negative errno. */

/* Prints JSON in the form of --json=. */
int print_json(const Args *a, const json_t *value) _warn_unused_;
/* Prints an object as one line of JSON at once, for a reader that follows. */
int print_json_line(const json_t *object) _warn_unused_;

/* Print one object: print_answer() as JSON or like print_text(), which prints "Label: value" lines in the
 * order of the members, and below them a table for each member that is an array of objects. Members without a
 * value, and those that say that all is well, are left out. */
int print_answer(const Args *a, const json_t *object) _warn_unused_;
int print_text(const Args *a, const json_t *object) _warn_unused_;

/* Whether print_text() has a line for a member. */
bool member_is_shown(const json_t *object, const char *key, const json_t *value) _pure_;

/* Prints an array of objects as a table. keys: the members that become columns, ended by NULL; one with '?'
 * is shown only if an object has the member. On a terminal cells lose their middle until the table fits,
 * unless --output=wide is given. */
int print_table(const Args *a, const json_t *rows, const char *const keys[]) _warn_unused_;
/* The same, or JSON, and the number of objects. what: the word for an object. */
int print_list(const Args *a, const json_t *rows, const char *const keys[], const char *what) _warn_unused_;

/* Returns the color for a value that needs attention, by its text; NULL for all others. */
const char *field_color(const char *key, const char *text) _pure_;

/* Returns the columns that a text takes on a terminal, in the locale. */
size_t text_width(const char *text) _pure_;
/* Replaces the middle of a text that is wider than width by an ellipsis. NULL on lack of memory. */
char *text_fit(const char *text, size_t width) _warn_unused_;

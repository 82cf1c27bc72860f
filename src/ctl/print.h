/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/args.h"

/* Print selvolctl's output on standard output, in the form that the options ask for. Return 0 or a negative
 * errno. */

/* Prints JSON in the form of --json=. */
int print_json(const Args *a, const json_t *value) _warn_unused_;

/* Print one object: print_answer() as JSON or like print_text(), which prints "Label: value" lines in the
 * order of the members, and below them a table for each member that is an array of objects. Members without a
 * value are left out. */
int print_answer(const Args *a, const json_t *object) _warn_unused_;
int print_text(const Args *a, const json_t *object) _warn_unused_;

/* Prints an array of objects as JSON, or as a table and the number of objects. keys: the members that become
 * columns, ended by NULL. what: the word for an object. */
int print_list(const Args *a, const json_t *rows, const char *const keys[], const char *what) _warn_unused_;

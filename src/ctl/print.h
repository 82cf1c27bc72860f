/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/args.h"

/* The output of selvolctl on standard output, as the options say. Return 0 or a negative errno. */

/* In the form that --json= names. */
int print_json(const Args *a, const json_t *value) _warn_unused_;

/* One object, as JSON or as "Label: value" lines in the order of its members, and below them a table for each
 * member that is an array of objects. What has no value to show is left out. */
int print_answer(const Args *a, const json_t *object) _warn_unused_;
int print_text(const Args *a, const json_t *object) _warn_unused_;

/* An array of objects, as JSON or as a table with these members, ended by NULL, as columns, and their number.
 * */
int print_list(const Args *a, const json_t *rows, const char *const keys[], const char *what) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cleanup.h"

/* Fits tables into the width of the terminal. */

/* Returns the columns that a text takes on a terminal, in the locale. */
size_t fit_width(const char *text) _pure_;

/* Narrows the widest of the columns that may be shortened, again and again, until all columns, with a blank
 * between each two, fit into width. No column gets narrower than FIT_MIN. */
enum { FIT_MIN = 8 };
void fit_columns(size_t *widths, const bool *may_shorten, size_t n, size_t width);

/* Shorten a text that is wider than width, with an ellipsis: fit_beginning() keeps the beginning, for
 * sentences; fit_end() keeps the end, for paths and contexts. NULL on lack of memory. */
char *fit_beginning(const char *text, size_t width) _warn_unused_;
char *fit_end(const char *text, size_t width) _warn_unused_;

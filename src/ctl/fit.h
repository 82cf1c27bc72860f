/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cleanup.h"

/* Tables that are wider than the terminal. */

/* How many columns of a terminal a text takes, in the locale. */
size_t fit_width(const char *text) _pure_;

/* Makes columns narrower, of those that may be shortened always the widest, until all of them, with a blank
 * between each two, take width; but none narrower than FIT_MIN. */
enum { FIT_MIN = 8 };
void fit_columns(size_t *widths, const bool *may_shorten, size_t n, size_t width);

/* If a text takes more than width: its beginning, as of a sentence, or its end, as of a path or a context,
 * and an ellipsis. NULL on lack of memory. */
char *fit_beginning(const char *text, size_t width) _warn_unused_;
char *fit_end(const char *text, size_t width) _warn_unused_;

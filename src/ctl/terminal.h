/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/cleanup.h"

#define COLOR_RED    "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_OFF    "\033[0m"

/* Whether a file descriptor is a terminal that understands control sequences. */
bool terminal_is_capable(int fd);

/* How many columns it has: if it doesn't say, $COLUMNS, or 80. */
size_t terminal_width(int fd);

/* How many lines: if it doesn't say, $LINES, or 24. */
size_t terminal_height(int fd);

/* Standard output is going to be a pipe to a pager: what has been asked of it, and is from now on, is
 * answered as if it were the terminal still. */
void terminal_keep(void);

/* Whether to write colors there: to such a terminal, unless $NO_COLOR is set. */
bool terminal_has_colors(int fd);

/* Prints "selvolctl: MESSAGE", escaped as a whole if it has to be. Returns EXIT_USAGE. */
int report_usage(const char *format, ...) _printf_(1, 2);

/* Print "selvolctl: SUBJECT: MESSAGE" on standard error, both escaped; without SUBJECT if that is NULL or the
 * message has it. An error is red. */
void report_error(const char *subject, const char *message);
void report_note(const char *subject, const char *message);

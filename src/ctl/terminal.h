/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/cleanup.h"

#define COLOR_RED    "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_OFF    "\033[0m"

/* Whether a file descriptor is a terminal that understands control sequences. */
bool terminal_is_capable(int fd);

/* Returns the columns of the terminal, or else $COLUMNS, or else 80. */
size_t terminal_width(int fd);

/* Returns the lines of the terminal, or else $LINES, or else 24. */
size_t terminal_height(int fd);

/* Keeps a copy of standard output, which becomes a pipe to a pager: the functions here then still describe
 * the terminal. */
void terminal_keep(void);

/* Whether the terminal supports colors, and $NO_COLOR is not set. */
bool terminal_has_colors(int fd);

/* Prints "selvolctl: MESSAGE" on standard error, escaped if necessary. Returns EXIT_USAGE. */
int report_usage(const char *format, ...) _printf_(1, 2);

/* Print "selvolctl: SUBJECT: MESSAGE" on standard error, both escaped; without SUBJECT if it is NULL or the
 * message contains it. An error is red. */
void report_error(const char *subject, const char *message);
void report_note(const char *subject, const char *message);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#define COLOR_RED    "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_OFF    "\033[0m"

/* Whether a file descriptor is a terminal that understands control sequences. */
bool terminal_is_capable(int fd);

/* Whether to write colors there: to such a terminal, unless $NO_COLOR is set. */
bool terminal_has_colors(int fd);

/* Print "selvolctl: SUBJECT: MESSAGE" on standard error, both escaped; subject may be NULL. An error is red. */
void report_error(const char *subject, const char *message);
void report_note(const char *subject, const char *message);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The terminal, the pager, messages on standard error, and values as text that is safe to print. */

#define COLOR_RED    "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_OFF    "\033[0m"

/* Whether a file descriptor is a terminal that understands control sequences. */
bool terminal_is_capable(int fd);

/* Returns the columns of the terminal, or else $COLUMNS, or else 80. */
size_t terminal_width(int fd);

/* Whether the terminal supports colors, and $NO_COLOR is not set. */
bool terminal_has_colors(int fd);

/* Sends all further output to a pager, chosen as systemd's tools do: $SYSTEMD_PAGER, $PAGER, or the first of
 * pager, less and more that exists; for root, under sudo(8), or if $SYSTEMD_PAGERSECURE says so, only less in
 * secure mode. Does nothing without a terminal. The functions above then still describe the terminal. */
void pager_open(void);
bool pager_is_open(void);
/* Closes the output and waits until the person leaves the pager. The caller has flushed stdout. */
void pager_close(void);

/* Print "selvolctl: SUBJECT: MESSAGE" on standard error, both escaped; without SUBJECT if it is NULL or the
 * message contains it. An error is red. */
void report_error(const char *subject, const char *message);
void report_note(const char *subject, const char *message);

/* Format a value; return a new string, NULL on lack of memory. */

/* A string from outside. */
char *format_string(const char *s) _warn_unused_;
/* A string in which selvold has escaped parts from outside: unchanged if it is clean. */
char *format_escaped(const char *s) _warn_unused_;
/* An escaped text, with all bytes beyond ASCII as \xNN. */
char *format_ascii(const char *s) _warn_unused_;
/* A time in µs since the epoch, as local time. */
char *format_time(uint64_t usec) _warn_unused_;
/* "250us", "40ms", "2.5s"; from a minute on like format_seconds(). */
char *format_duration(uint64_t usec) _warn_unused_;
/* The two largest units: "5s", "2min 5s", "1h 20min", "3d 4h". */
char *format_seconds(uint64_t seconds) _warn_unused_;
/* The largest unit of the time since then, in µs since the epoch: "5s", "2min", "1h", "3d". */
char *format_age(uint64_t since_usec) _warn_unused_;

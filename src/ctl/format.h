/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* Values as text that is safe to print on a terminal. All return a new string, NULL on lack of memory. */

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

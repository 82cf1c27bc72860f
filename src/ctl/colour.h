/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#define COLOUR_RED    "\033[31m"
#define COLOUR_YELLOW "\033[33m"
#define COLOUR_OFF    "\033[0m"

/* Whether to write colours to a file descriptor: to terminals that know them, unless $NO_COLOR says not to. */
bool colours_wanted(int fd);

/* Whether what is written to a file descriptor goes to a terminal that obeys control sequences. */
bool terminal_obeys(int fd);

/* The colour that makes a value stand out: red what is wrong, yellow what deserves a look, NULL all others. key,
 * which may be NULL, is the value's name on D-Bus. */
const char *colour_of(const char *key, const char *value);

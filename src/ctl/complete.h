/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* A shell's completion calls "selvolctl __complete WORDS...". */

/* Prints the words that the last word, which may be "", can become, one on a line; an option that needs a
 * value ends in "=". A line of only "/" stands for file names. Asks selvold for volumes, targets and jobs,
 * but does not start it. Returns 0 or a negative errno. */
int complete_print(char **words, int n) _warn_unused_;

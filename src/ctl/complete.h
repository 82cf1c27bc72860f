/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* The completion of a shell calls "selvolctl __complete WORDS...". */

/* Prints the words that the last word, which may be "", can become, each on a line; an option that needs a
 * value has "=" at its end. A line with nothing but "/" stands for the names of files. The service is asked
 * for volumes, targets and jobs, but not started for that. Returns 0 or a negative errno. */
int complete_print(char **words, int n) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* What the completion of a shell asks for: "selvolctl __complete WORDS...". */

/* Prints what the last word, which may be "", can become, one in a line: all of the word, and for an option that needs a
 * value with "=" at its end. A line with nothing but "/" stands for the names of files. The service is asked for volumes,
 * targets and jobs, but not started for that. Returns 0 or a negative errno. */
int complete_print(char **words, int n) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/verb-table.h"

/* Prints the help of a verb, or of the program with its verbs if that is NULL. */
void help_print(const Verb *v);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/verb-table.h"

/* Prints the help of a verb; NULL: of the program. */
void help_print(const Verb *v);

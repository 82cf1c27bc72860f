/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/answer.h"
#include "ctl/args.h"

/* Prints jobs like print_list(), with calculated estimates. Returns 0 or a negative errno. */
int job_table_print(const Args *a, json_t *jobs) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "ctl/answer.h"

/* An entry of GetHistory as a line of a log, safe to print: when, what, where, for whom, with which context, how long it took, who
 * asked, and why. volume is whose history it is, NULL if the entry says so. NULL on lack of memory. */
char *history_format(const json_t *entry, const char *volume) _warn_unused_;

/* Prints those lines, in color what failed. Returns 0 or -ENOMEM. */
int history_print(const json_t *entries, const char *volume, const char *indent) _warn_unused_;

/* Appends to ret what all volumes have of the last hour and matches takes, oldest first and the last max. Returns as
 * bus_call_method(). */
int history_read_recent(sd_bus *bus, bool (*matches)(const json_t *entry), size_t max, json_t *ret) _warn_unused_;

bool history_has_failed(const json_t *entry) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "ctl/answer.h"

/* The history consists of selvold's journal records about ended operations: those with SELVOL_OPERATION= and
 * SELVOL_RESULT=. An entry has TimeUSec, Operation, Result and Text, and, if the record has them, Volume,
 * Reason, Target, Holder, Context, Caller, DurationUSec and WaitUSec. */

/* Which entries to read. */
typedef struct HistoryQuery {
        const char *subject;             /* a volume, or a target, which begins with "/"; NULL: all */
        uint64_t since_usec, until_usec; /* since the epoch; until: 0: without an end */
        size_t max;
        bool failed; /* only failures */
} HistoryQuery;

/* Appends the last entries to ret, the oldest first. Returns 0, -EACCES if the caller may not read the
 * journal, -ENODATA if there is no journal, or another negative errno. */
int history_read(const HistoryQuery *q, json_t *ret) _warn_unused_;
/* Calls back with the entries that come, until the callback returns something else than 0. */
int history_follow(const HistoryQuery *q, int (*callback)(const json_t *entries, void *userdata),
                   void *userdata) _warn_unused_;
/* Makes an array of the last failures in the last hour; null, for unknown, if the journal can't be read.
 * Returns 0 or -ENOMEM. */
int history_read_failed(size_t max, json_t **ret) _warn_unused_;

/* Explains -EACCES or -ENODATA and the remedy; NULL for any other error. */
const char *history_explain(int error) _pure_;

/* Prints each entry as a line of a log, failures in color: time, caller, name of the error, and the text of
 * the journal. Returns 0 or -ENOMEM. */
int history_print(const json_t *entries, const char *indent) _warn_unused_;

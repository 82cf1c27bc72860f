/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "ctl/answer.h"

/* The history consists of selvold's journal records about ended operations: those with SELVOL_OPERATION= and
 * SELVOL_RESULT=. An entry has TimeUSec, Operation, Result and Text, and, if the record has them, Volume,
 * Reason, Target, Holder, Context, Caller, DurationUSec and WaitUSec. */

/* Appends the last max entries to ret, the oldest first: those of a volume, of a target (subject begins with
 * "/"), or all (NULL), that are not older than since_usec and for which matches (NULL: all) returns true.
 * Returns 0, -EACCES if the caller may not read the journal, -ENODATA if there is no journal, or another
 * negative errno. */
int history_read(const char *subject, uint64_t since_usec, bool (*matches)(const json_t *entry), size_t max,
                 json_t *ret) _warn_unused_;
/* Makes an array of the entries of all volumes in the last hour; null, for unknown, if the journal can't be
 * read. Returns 0 or -ENOMEM. */
int history_read_recent(bool (*matches)(const json_t *entry), size_t max, json_t **ret) _warn_unused_;

/* Explains -EACCES or -ENODATA and the remedy; NULL for any other error. */
const char *history_explain(int error) _pure_;

/* Prints each entry as a line of a log, failures in color: time, caller, name of the error, and the text of
 * the journal. Returns 0 or -ENOMEM. */
int history_print(const json_t *entries, const char *indent) _warn_unused_;

bool history_has_failed(const json_t *entry) _pure_;

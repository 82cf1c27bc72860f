/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "ctl/answer.h"

/* The history is what selvold has written into the journal of what has ended: the records that have both
 * SELVOL_OPERATION= and SELVOL_RESULT=. An entry has TimeUSec, Operation, Result and Text, and what the
 * record has of Volume, Reason, Target, Holder, Context, Caller and DurationUSec. */

/* Appends to ret, the oldest first, the last max entries of a volume, of a path that begins with "/" as
 * the target, or of all (NULL), that are not older than since_usec, and that matches (NULL: all) takes.
 * Returns 0; -EACCES if the caller may not read the journal; -ENODATA if none is kept; or another negative
 * errno. */
int history_read(const char *subject, uint64_t since_usec, bool (*matches)(const json_t *entry), size_t max,
                 json_t *ret) _warn_unused_;
/* Makes an array of those of all volumes in the last hour; null, for not known, if the journal can't be
 * read. Returns 0 or -ENOMEM. */
int history_read_recent(bool (*matches)(const json_t *entry), size_t max, json_t **ret) _warn_unused_;

/* Why -EACCES or -ENODATA, and what to do; NULL for any other error. */
const char *history_explain(int error) _pure_;

/* Prints each entry as a line of a log, in color what failed: when, who asked, the name of the error, and
 * what the journal says. Returns 0 or -ENOMEM. */
int history_print(const json_t *entries, const char *indent) _warn_unused_;

bool history_has_failed(const json_t *entry) _pure_;

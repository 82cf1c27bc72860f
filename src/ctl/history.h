/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-journal.h>

#include "ctl/answer.h"

/* The history consists of selvold's journal records about ended operations: those with SELVOL_OPERATION= and
 * SELVOL_RESULT=. An entry has TimeUSec, Operation, Result and Text, and, if the record has them, Volume,
 * Reason, Target, Holder, Context, Caller, DurationUSec and WaitUSec. */

/* Makes an array of the last failures in the last hour; null, for unknown, if the journal can't be read.
 * Returns 0 or -ENOMEM. */
int history_read_failed(size_t max, json_t **ret) _warn_unused_;

/* Prints each entry as a line of a log, failures in color: time, caller, name of the error, and the text of
 * the journal. Returns 0 or -ENOMEM. */
int history_print(const json_t *entries, const char *indent) _warn_unused_;

/* Opens the journal of the system, without those of users. Returns 0, -EACCES if the caller may not read it,
 * -ENODATA if there is no journal, or another negative errno. */
int journal_open(sd_journal **ret) _warn_unused_;

/* Reads a field of the present record; NULL if the record lacks it. Returns 0 or -ENOMEM. */
int journal_get(sd_journal *j, const char *field, char **ret) _warn_unused_;

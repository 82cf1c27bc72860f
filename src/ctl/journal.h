/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-journal.h>

#include "basic/cleanup.h"

/* Opens the journal of the system, without those of users. Returns 0, -EACCES if the caller may not read it,
 * -ENODATA if there is no journal, or another negative errno. */
int journal_open(sd_journal **ret) _warn_unused_;

/* Reads a field of the present record; NULL if the record lacks it. Returns 0 or -ENOMEM. */
int journal_get(sd_journal *j, const char *field, char **ret) _warn_unused_;

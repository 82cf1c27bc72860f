/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store-rows.h"
#include "store/store-transaction.h"

/* What survives: volumes, holders and history in one SQLite file. */

/* Opens the file, or makes it, with its directory present. Returns 0; -EPROTONOSUPPORT if a newer version has written
 * it; -EBUSY if another process has it; -EUCLEAN if it is no intact store of ours; or another negative errno. */
int store_open(const char *path, Store **ret);
Store *store_close(Store *s);
DEFINE_CLEANUP_FUNC(Store *, store_close);

/* Renames a damaged file, with what SQLite keeps beside it, to PATH.damaged-TIME. *ret_name is the new name. */
int store_set_aside(const char *path, uint64_t now_usec, char **ret_name);

/* Writes everything anew, into a new file that replaces the old one. History is kept as far as it can be read. */
int store_rewrite(Store *s, const Volumes *all, const char *boot_id);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store-rows.h"

/* What survives: volumes, holders and history in one SQLite file. Changes collect in a transaction until
 * store_commit(), which returns when they are on disk. After an error the store is failed: it takes and commits
 * nothing until store_rewrite() has written a new file, because what an fsync that failed has left on disk is
 * unknown. */

/* Opens the file, or makes it, with its directory present. Returns 0; -EPROTONOSUPPORT if a newer version has written
 * it; -EBUSY if another process has it; -EUCLEAN if it is no intact store of ours; or another negative errno. */
int store_open(const char *path, Store **ret);
Store *store_close(Store *s);
DEFINE_CLEANUP_FUNC(Store *, store_close);

/* Renames a damaged file, with what SQLite keeps beside it, to PATH.damaged-TIME. *ret_name is the new name. */
int store_set_aside(const char *path, uint64_t now_usec, char **ret_name);

/* Whether there is something to commit. */
bool store_is_dirty(const Store *s) _pure_;
bool store_is_failed(const Store *s) _pure_;
/* Makes all changes durable. Returns 0 or a negative errno; the store is failed then. */
int store_commit(Store *s);
/* Writes everything anew, into a new file that replaces the old one. History is kept as far as it can be read. */
int store_rewrite(Store *s, const Volumes *all, const char *boot_id);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume.h"
#include "store/store-types.h"

/* The records that survive: volumes and holders in one SQLite file, and beside it the files that a rewrite
 * or a migration keeps.
 *
 * Records must survive the death of selvold and a power cut, but selvold's only loop can't wait for a disk. So
 * changes collect as values, until they are handed to a thread of the store's own as one transaction. The
 * thread alone uses the file then. One transaction is under way at a time, and what collects meanwhile is the
 * next one. A commit is one append to SQLite's log and one fsync (store-file.c); store_dispatch() calls back
 * when it is on disk. Only store_open(), store_load(), store_get_boot_id(), store_commit(), store_wait() and
 * store_close() wait for the disk; the second and the third must not be called while a transaction is under
 * way.
 *
 * Whenever selvold or the machine dies, a transaction that was called back without an error is there, and one
 * under way is there as a whole or not at all. Changes that had only collected are lost: an answer that must
 * not be ahead of the record waits for the call back (state/commit.h).
 *
 * After an error it is unknown what is on disk. The store is failed then, and drops what is handed over, until
 * everything has been written into a new file (store_hand_over_anew()). At every instant the old file or the
 * new one is whole. */
typedef struct Store Store;

/* Opens the file, or makes it, with its directory present; one of an older version is migrated, and a copy
 * kept. If it can't be written, or is damaged or of another application (-EUCLEAN), the store is there,
 * with what can be read, but failed. The schema is borrowed; only tests pass another one than
 * store_schema. Returns 0; -EPROTONOSUPPORT if a newer version has written it; -EBUSY if another process
 * has it; or another negative errno if it can't be read. */
int store_open(const char *path, const Schema *schema, Store **ret) _warn_unused_;
/* What was handed over is written and called back, what was not is dropped. */
Store *store_close(Store *s);
DEFINE_CLEANUP_FUNC(Store *, store_close);

/* Why the store is failed, a negative errno; or 0. */
int store_get_error(const Store *s) _pure_;
/* Makes the store failed. The next file that is written does not replace the one that is there now, but
 * that stays as *ret_name: PATH.damaged-TIME. */
int store_set_aside(Store *s, uint64_t now_usec, char **ret_name) _warn_unused_;

/* Reads all volumes and holders into what is empty, and stays so if it fails. Contents are checked like any
 * input: what can't be is skipped, row by row; without its volume a holder is too. Returns 0 or a negative
 * errno: -EUCLEAN if the file itself is damaged. */
int store_load(Store *s, Volumes *all, StoreSkipped skipped, void *userdata) _warn_unused_;

/* The boot that the holders belong to; "" if none was recorded, that of no boot if it can't be read. */
int store_get_boot_id(Store *s, char **ret) _warn_unused_;
void store_put_boot_id(Store *s, const char *boot_id);

/* Record a volume without its holders, or one of its holders; drop a volume with its holders, or the holder
 * at a target. Failures are those of the transaction. */
void store_put_volume(Store *s, const Volume *v);
void store_put_holder(Store *s, const Volume *v, const Holder *h);
void store_delete_volume(Store *s, const char *id);
void store_delete_holder(Store *s, const char *target);

/* Whether there is something to hand over. */
bool store_is_dirty(const Store *s) _pure_;
void store_drop_changes(Store *s);

/* 0: it is on disk; or a negative errno, and the store is failed. */
typedef void (*StoreCommitted)(void *userdata, int error);

/* Hands over what has collected, as one transaction. There must be none under way. */
void store_hand_over(Store *s, StoreCommitted callback, void *userdata);
/* The same, but everything is written anew, into a file that replaces the old one. If that succeeds the
 * store is not failed any more. */
void store_hand_over_anew(Store *s, const Volumes *all, const char *boot_id, StoreCommitted callback, void *userdata);

/* Readable when there is something to call back. */
int store_get_fd(const Store *s);
void store_dispatch(Store *s);
/* Waits until all that was handed over is done, and calls back. */
void store_wait(Store *s);
/* Hands over and waits. Returns 0 or a negative errno. */
int store_commit(Store *s);

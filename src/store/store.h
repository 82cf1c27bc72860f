/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume.h"
#include "store/store-types.h"

/* The records that survive: volumes and holders in one SQLite file, and next to it the files that a rewrite
 * or a migration keeps.
 *
 * Records must survive the death of selvold and a power cut, but selvold's only event loop can't wait for a
 * disk. So the store collects changes as values, and hands them to its own thread as one transaction. From
 * then on only the thread uses the file. One transaction at a time is being written; changes made meanwhile
 * become the next one. A commit is one append to SQLite's log and one fsync() (store-file.c). When it is on
 * disk, store_dispatch() calls back. Only store_open(), store_load(), store_get_boot_id(), store_commit(),
 * store_wait() and store_close() wait for the disk. store_load() and store_get_boot_id() must not be called
 * while a transaction is being written.
 *
 * If selvold or the machine dies, a transaction whose callback had no error is on disk, and the transaction
 * being written is there as a whole or not at all. Changes not handed over are lost: a reply that must not
 * precede the record waits for the callback (state/commit.h).
 *
 * After an error nobody knows what is on disk. The store is then failed, and drops transactions until
 * store_hand_over_anew() has written everything into a new file. At every instant the old file or the new one
 * is complete. */
typedef struct Store Store;

/* Opens or creates the file; its directory must exist. Migrates a file of an older version, and keeps a copy.
 * If the file can't be written, is damaged, or is another application's (-EUCLEAN), the store is open but
 * failed, with the rows that could be read. The schema is borrowed; only tests pass another one than
 * store_schema. Returns 0; -EPROTONOSUPPORT if a newer version has written the file; -EBUSY if another
 * process uses it; or another negative errno if it can't be read. */
int store_open(const char *path, const Schema *schema, Store **ret) _warn_unused_;
/* Writes a transaction that was handed over, and calls back. Drops changes that were not handed over. */
Store *store_close(Store *s);
DEFINE_CLEANUP_FUNC(Store *, store_close);

/* The error of a failed store, a negative errno; 0: not failed. */
int store_get_error(const Store *s) _pure_;
/* Makes the store failed. The next new file will not remove the present one, but keep it as *ret_name:
 * PATH.damaged-TIME. */
int store_set_aside(Store *s, uint64_t now_usec, char **ret_name) _warn_unused_;

/* Reads all volumes and holders into *all, which must be empty, and is empty after an error. Rows are checked
 * like any input: bad rows are skipped one by one, and so is a holder without its volume. Returns 0 or a
 * negative errno: -EUCLEAN if the file itself is damaged. */
int store_load(Store *s, Volumes *all, StoreSkipped skipped, void *userdata) _warn_unused_;

/* The boot of the holders; "": none was recorded; "unreadable": it can't be read. */
int store_get_boot_id(Store *s, char **ret) _warn_unused_;
void store_put_boot_id(Store *s, const char *boot_id);

/* The highest number that a job of this file may have had: 0 if none is recorded, or it can't be read. A
 * rewrite records it only if it is put again. */
int store_get_job_numbers(Store *s, uint64_t *ret) _warn_unused_;
void store_put_job_numbers(Store *s, uint64_t end);

/* Record a volume without its holders, or one of its holders; drop a volume with its holders, or the holder
 * at a target. Errors are reported by the transaction. */
void store_put_volume(Store *s, const Volume *v);
void store_put_holder(Store *s, const Volume *v, const Holder *h);
void store_delete_volume(Store *s, const char *id);
void store_delete_holder(Store *s, const char *target);

/* Whether there are changes to hand over. */
bool store_is_dirty(const Store *s) _pure_;
void store_drop_changes(Store *s);

/* error: 0 if the transaction is on disk; a negative errno if the store is now failed. */
typedef void (*StoreCommitted)(void *userdata, int error);

/* Hands over the collected changes as one transaction. No other one may be under way. */
void store_hand_over(Store *s, StoreCommitted callback, void *userdata);
/* Like store_hand_over(), but writes everything into a file that replaces the old one. On success the store
 * is no longer failed. */
void store_hand_over_anew(Store *s, const Volumes *all, const char *boot_id, StoreCommitted callback, void *userdata);

/* Readable when a callback is due. */
int store_get_fd(const Store *s);
void store_dispatch(Store *s);
/* Waits until the transaction that was handed over is done, and calls back. */
void store_wait(Store *s);
/* The same, at most until then (CLOCK_MONOTONIC). Returns 0 or -ETIMEDOUT: then the thread still uses the
 * store, which must not be closed. */
int store_wait_until(Store *s, uint64_t usec) _warn_unused_;
/* Hands over and waits. Returns 0 or a negative errno. */
int store_commit(Store *s);

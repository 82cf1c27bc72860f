/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume.h"
#include "store/store-transaction.h"

/* What the store keeps, as rows. */

enum { HISTORY_MAX = 64 };

typedef struct HistoryEntry {
        uint64_t time_usec;
        char *operation;
        char *result; /* "done", or the error's name */
        char *reason;
        char *target;
        char *holder;
        char *context;
        char *caller;
        char *text;
        uint64_t duration_usec;
} HistoryEntry;

void history_entry_done(HistoryEntry *e);

/* Reads all volumes and holders into what is empty, and stays so if it fails. Contents are checked like any input:
 * -EUCLEAN if something can't be. */
int store_load(Store *s, Volumes *all);

/* The boot that the holders belong to; "" if none was recorded. */
int store_get_boot_id(Store *s, char **ret);
void store_set_boot_id(Store *s, const char *boot_id);

/* Record a volume without its holders, or one of its holders; drop a volume with its holders and history, or the holder at a
 * target; add to a volume's history (the oldest entries go). Failures are remembered for store_commit(). */
void store_put_volume(Store *s, const Volume *v);
void store_put_holder(Store *s, const Volume *v, const Holder *h);
void store_delete_volume(Store *s, const char *id);
void store_delete_holder(Store *s, const char *target);
void store_add_history(Store *s, const char *id, const HistoryEntry *e);

/* The history of a volume, oldest first. */
int store_get_history(Store *s, const char *id, HistoryEntry **ret, size_t *ret_n);

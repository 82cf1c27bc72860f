/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* Changes collect in a transaction until store_commit(), which returns when they are on disk. After an error the store is
 * failed: it takes and commits nothing until store_rewrite() has written a new file, because what an fsync that failed
 * has left on disk is unknown. */
typedef struct Store Store;

/* Whether there is something to commit. */
bool store_is_dirty(const Store *s) _pure_;
bool store_is_failed(const Store *s) _pure_;
/* Makes all changes durable. Returns 0 or a negative errno; the store is failed then. */
int store_commit(Store *s);

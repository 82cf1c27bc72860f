/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "tree/queue.h"

/* A limit on how many entries a second are visited, by all threads together. */
typedef struct Rate {
        uint64_t entries_per_sec; /* 0: no limit */
        _Atomic uint64_t next_nsec;
} Rate;

/* Waits until an entry may be visited, or the walk is stopped. granted is the thread's own, 0 at first. */
void rate_wait(Rate *r, Queue *q, uint64_t *granted);

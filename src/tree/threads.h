/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/walk.h"

typedef struct Threads {
        Thread *list;
        unsigned n;
} Threads;

/* Chooses how many there are; none is started. */
int threads_init(Threads *threads, Walk *w) _warn_unused_;
void threads_done(Threads *threads);

/* Has them work until all that the queue holds is done, or the walk is stopped; progress() is called meanwhile. Returns
 * the walk's error, or 0. */
int threads_run(Threads *threads) _warn_unused_;
/* What they have counted so far. */
WalkCounts threads_sum(const Threads *threads);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/issues.h"
#include "tree/queue.h"
#include "tree/rate.h"
#include "tree/spec.h"

/* How the engine is made; each file uses only those below it:
 *
 *   tree.c      the walk as a whole: both passes, the root, the sync
 *   threads.c   the threads, and what they have counted
 *   work.c      what a thread does next: with a directory, or a batch of its entries
 *   read.c      names that are read from a directory
 *   visit.c     one entry
 *   dir.c       directories that are open; whether they were modified
 *   chunk.c     names that were read
 *   issues.c, queue.c, rate.c
 *
 * A directory is read in chunks, and read on only when what its chunk held has been taken from the stack. */

typedef struct Walk {
        const TreeSpec *spec;
        unsigned pass;
        uint64_t since_nsec;       /* when the first pass began, less what a clock may lag behind */
        uint64_t pass_since_nsec;  /* the same of this pass */
        uint64_t root_ctime_nsec;  /* when this pass began */
        bool root_changed;         /* by the visitor */
        atomic_bool times_set;     /* somebody sets the times of directories: they don't tell what was modified */
        _Atomic uint64_t modified; /* directories that were modified in this pass while they were walked, or that were
                                     * gone before they were opened: they may be elsewhere now */
        atomic_int sync_error;     /* a positive errno */
        _Atomic uint64_t next_serial, n_dirs, chunk_bytes;
        Queue queue;
        Issues issues;
        Rate rate;
} Walk;

/* A thread's counts, on a cache line of its own. */
typedef struct Thread {
        _Alignas(64) Walk *walk;
        pthread_t id;
        _Atomic uint64_t done, changed, mismatched, misowned, skipped;
        _Atomic uint64_t skipped_again; /* in the second pass, where what was counted may come again */
        _Atomic uint64_t steps;         /* of any kind, in both passes: that it gets on */
        uint64_t cwd;                   /* serial of the directory that it is in; 0: none of the tree */
        uint64_t granted;               /* rate_wait() */
        struct Chunk *spare;
        void *scratch; /* the visitor's */
} Thread;

/* Only its thread writes it. */
static inline void count(_Atomic uint64_t *counter) {
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline bool walk_changes(const Walk *w) {
        return w->spec->visitor && w->spec->visitor->changes;
}

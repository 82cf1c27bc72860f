/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The work that the threads of a walk share: a stack of directories to open or to read on, and of batches of
 * names. Threads take the last pushed work first, so the walk goes depth first and the stack stays small. */

typedef enum WorkKind { WORK_DIR, WORK_BATCH } WorkKind;

/* The first member of a Dir or a Batch. */
typedef struct Work {
        struct Work *next;
        WorkKind kind;
} Work;

typedef struct Queue {
        atomic_bool stop;
        atomic_int error;          /* the negative errno that ended the walk */
        pthread_mutex_t lock;      /* protects the members that are not atomic */
        pthread_cond_t wake, idle; /* wake: for threads; idle: for the caller of queue_wait() */
        Work *stack;
        unsigned n_working, n_waiting;
        bool ended;
} Queue;

int queue_init(Queue *q) _warn_unused_;
void queue_done(Queue *q);

/* Called before threads begin. first: the only work; NULL: the work is not on the stack (a sync). */
void queue_begin(Queue *q, Work *first);
/* Waits for work. had_work: the caller has done the work it took before. Returns NULL when all work is done
 * or the walk is stopped. */
Work *queue_take(Queue *q, bool had_work);
/* Pushes a chain of work, first to last; first is taken first. */
void queue_push(Queue *q, Work *first, Work *last);
/* Takes one work that is left after a stop. Only called when all threads are gone. */
Work *queue_drain(Queue *q);

/* Stops the walk. error: a negative errno, or 0 if the caller needs no more entries. */
void queue_stop(Queue *q, int error);
/* Called by a thread that takes no work: its work is done. */
void queue_end(Queue *q);
/* Waits for the end of the work, usec at most. Returns whether the work has ended. */
bool queue_wait(Queue *q, uint64_t usec);

static inline bool queue_is_stopped(Queue *q) {
        return atomic_load_explicit(&q->stop, memory_order_relaxed);
}

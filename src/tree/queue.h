/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The work that the threads of a walk share: a stack of directories to be opened or read on, and of batches
 * of names. What is pushed last is taken first, so the walk goes to the depth first, and little waits. */

typedef enum WorkKind { WORK_DIR, WORK_BATCH } WorkKind;

/* Something to do; the first member of what it is about. */
typedef struct Work {
        struct Work *next;
        WorkKind kind;
} Work;

typedef struct Queue {
        atomic_bool stop;
        atomic_int error;          /* a negative errno, which ended the walk */
        pthread_mutex_t lock;      /* of what is not atomic */
        pthread_cond_t wake, idle; /* for those that work; for the one that waits for them */
        Work *stack;
        unsigned n_working, n_waiting;
        bool ended;
} Queue;

int queue_init(Queue *q) _warn_unused_;
void queue_done(Queue *q);

/* Before threads begin: there is one thing to do; NULL: what there is to do is none of the stack's. */
void queue_begin(Queue *q, Work *first);
/* Waits for something to do, having done what was taken before; NULL when all is done. */
Work *queue_take(Queue *q, bool had_work);
/* Puts a chain of work on the stack, first to last: the first one will be taken first. */
void queue_push(Queue *q, Work *first, Work *last);
/* Takes what is left after a stop, one at a time; only when no thread is there any more. */
Work *queue_drain(Queue *q);

/* Ends the walk, with a negative errno, or 0 if what was done is all that was wanted. */
void queue_stop(Queue *q, int error);
/* All that was to be done is done, says a thread that takes no work. */
void queue_end(Queue *q);
/* Waits for the end, or for the time. Returns whether it has ended. */
bool queue_wait(Queue *q, uint64_t usec);

static inline bool queue_is_stopped(Queue *q) {
        return atomic_load_explicit(&q->stop, memory_order_relaxed);
}

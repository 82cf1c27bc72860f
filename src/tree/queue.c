/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "basic/time-util.h"
#include "tree/queue.h"

/* A mutex and a condition variable hold no resources on Linux, so an error needs no cleanup. */
int queue_init(Queue *q) {
        pthread_condattr_t monotonic;
        int r;

        *q = (Queue){ 0 };
        r = pthread_condattr_init(&monotonic);
        if (r != 0)
                return -r;
        r = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        if (r == 0)
                r = pthread_cond_init(&q->idle, &monotonic);
        (void) pthread_condattr_destroy(&monotonic);
        if (r == 0)
                r = pthread_cond_init(&q->wake, NULL);
        if (r == 0)
                r = pthread_mutex_init(&q->lock, NULL);
        return -r;
}

void queue_done(Queue *q) {
        (void) pthread_mutex_destroy(&q->lock);
        (void) pthread_cond_destroy(&q->wake);
        (void) pthread_cond_destroy(&q->idle);
}

void queue_begin(Queue *q, Work *first) {
        q->stack = first;
        q->n_working = q->n_waiting = 0;
        q->ended = false;
}

Work *queue_take(Queue *q, bool had_work) {
        Work *work;

        pthread_mutex_lock(&q->lock);
        if (had_work)
                q->n_working--;
        while (!q->stack && q->n_working > 0 && !queue_is_stopped(q)) {
                q->n_waiting++;
                pthread_cond_wait(&q->wake, &q->lock);
                q->n_waiting--;
        }

        work = queue_is_stopped(q) ? NULL : q->stack;
        if (work) {
                q->stack = work->next;
                q->n_working++;
        } else {
                pthread_cond_broadcast(&q->wake);
                if (q->n_working == 0) {
                        q->ended = true;
                        pthread_cond_signal(&q->idle);
                }
        }
        pthread_mutex_unlock(&q->lock);
        return work;
}

void queue_push(Queue *q, Work *first, Work *last) {
        pthread_mutex_lock(&q->lock);
        last->next = q->stack;
        q->stack = first;
        if (q->n_waiting > 0 && first != last)
                pthread_cond_broadcast(&q->wake);
        else if (q->n_waiting > 0)
                pthread_cond_signal(&q->wake);
        pthread_mutex_unlock(&q->lock);
}

Work *queue_drain(Queue *q) {
        Work *work = q->stack;

        if (work)
                q->stack = work->next;
        return work;
}

void queue_stop(Queue *q, int error) {
        int none = 0;

        (void) atomic_compare_exchange_strong(&q->error, &none, error);
        pthread_mutex_lock(&q->lock);
        atomic_store(&q->stop, true);
        pthread_cond_broadcast(&q->wake);
        pthread_mutex_unlock(&q->lock);
}

void queue_end(Queue *q) {
        pthread_mutex_lock(&q->lock);
        q->ended = true;
        pthread_cond_signal(&q->idle);
        pthread_mutex_unlock(&q->lock);
}

bool queue_wait(Queue *q, uint64_t usec) {
        const struct timespec until = timespec_of_nsec(clock_nsec(CLOCK_MONOTONIC) + usec * NSEC_PER_USEC);
        bool ended;
        int r = 0;

        pthread_mutex_lock(&q->lock);
        while (!q->ended && r == 0)
                r = pthread_cond_timedwait(&q->idle, &q->lock, &until);
        ended = q->ended;
        pthread_mutex_unlock(&q->lock);
        return ended;
}

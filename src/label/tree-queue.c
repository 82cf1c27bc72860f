/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/tree-internal.h"

Work *queue_take(Walk *w, bool had_work) {
        Work *work;

        pthread_mutex_lock(&w->lock);
        if (had_work)
                w->n_working--;
        while (!w->stack && w->n_working > 0 && !walk_is_stopped(w)) {
                w->n_waiting++;
                pthread_cond_wait(&w->wake, &w->lock);
                w->n_waiting--;
        }

        work = walk_is_stopped(w) ? NULL : w->stack;
        if (work) {
                w->stack = work->next;
                w->n_working++;
        } else {
                pthread_cond_broadcast(&w->wake);
                if (w->n_working == 0) {
                        w->ended = true;
                        pthread_cond_signal(&w->idle);
                }
        }
        pthread_mutex_unlock(&w->lock);
        return work;
}

void queue_push(Walk *w, Work *first, Work *last) {
        bool several = first != last;

        pthread_mutex_lock(&w->lock);
        last->next = w->stack;
        w->stack = first;
        if (w->n_waiting > 0 && several)
                pthread_cond_broadcast(&w->wake);
        else if (w->n_waiting > 0)
                pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
}

void walk_stop(Walk *w, int error) {
        int none = 0;

        (void) atomic_compare_exchange_strong(&w->error, &none, error);
        pthread_mutex_lock(&w->lock);
        atomic_store(&w->stop, true);
        pthread_cond_broadcast(&w->wake);
        pthread_mutex_unlock(&w->lock);
}

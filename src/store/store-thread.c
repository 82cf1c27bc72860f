/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "store/store-thread.h"

typedef struct TaskList {
        Task *first, *last;
} TaskList;

struct Thread {
        pthread_t id;
        pthread_mutex_t lock;
        pthread_cond_t changed; /* something is queued, or has been run, or it is to stop */
        TaskList queued, ended;
        bool busy, stop;
        int fd;
};

static void append(TaskList *l, Task *task) {
        task->next = NULL;
        if (l->last)
                l->last->next = task;
        else
                l->first = task;
        l->last = task;
}

static Task *take_first(TaskList *l) {
        Task *task = l->first;

        l->first = task->next;
        if (!l->first)
                l->last = NULL;
        return task;
}

static Task *next_task(Thread *t) {
        Task *task = NULL;

        (void) pthread_mutex_lock(&t->lock);
        while (!t->queued.first && !t->stop)
                (void) pthread_cond_wait(&t->changed, &t->lock);
        if (t->queued.first) {
                task = take_first(&t->queued);
                t->busy = true;
        }
        (void) pthread_mutex_unlock(&t->lock);
        return task;
}

static void end_task(Thread *t, Task *task) {
        (void) pthread_mutex_lock(&t->lock);
        append(&t->ended, task);
        t->busy = false;
        (void) pthread_cond_broadcast(&t->changed);
        (void) pthread_mutex_unlock(&t->lock);
        (void) eventfd_write(t->fd, 1);
}

static void *run_thread(void *userdata) {
        Thread *t = userdata;
        Task *task;

        while ((task = next_task(t))) {
                task->run(task);
                end_task(t, task);
        }
        return NULL;
}

/* Signals are for the owner. */
static int create_thread(Thread *t) {
        sigset_t all, before;
        int r;

        (void) sigfillset(&all);
        r = pthread_sigmask(SIG_SETMASK, &all, &before);
        if (r != 0)
                return -r;
        r = pthread_create(&t->id, NULL, run_thread, t);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

static Thread *thread_free(Thread *t) {
        (void) fd_close(t->fd);
        (void) pthread_cond_destroy(&t->changed);
        (void) pthread_mutex_destroy(&t->lock);
        free(t);
        return NULL;
}

int thread_start(Thread **ret) {
        Thread *t = calloc(1, sizeof(*t));
        int r;

        assert(ret);

        if (!t)
                return -ENOMEM;
        (void) pthread_mutex_init(&t->lock, NULL);
        (void) pthread_cond_init(&t->changed, NULL);
        t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = t->fd < 0 ? -errno : create_thread(t);
        if (r < 0) {
                thread_free(t);
                return r;
        }
        *ret = t;
        return 0;
}

Thread *thread_stop(Thread *t) {
        if (!t)
                return NULL;
        thread_wait(t);
        (void) pthread_mutex_lock(&t->lock);
        t->stop = true;
        (void) pthread_cond_broadcast(&t->changed);
        (void) pthread_mutex_unlock(&t->lock);
        (void) pthread_join(t->id, NULL);
        return thread_free(t);
}

void thread_queue(Thread *t, Task *task) {
        assert(t && task && task->run && task->done);

        (void) pthread_mutex_lock(&t->lock);
        append(&t->queued, task);
        (void) pthread_cond_broadcast(&t->changed);
        (void) pthread_mutex_unlock(&t->lock);
}

int thread_get_fd(const Thread *t) {
        return t->fd;
}

void thread_dispatch(Thread *t) {
        TaskList ended;
        eventfd_t n;

        (void) eventfd_read(t->fd, &n);
        (void) pthread_mutex_lock(&t->lock);
        ended = TAKE_STRUCT(t->ended);
        (void) pthread_mutex_unlock(&t->lock);
        while (ended.first) {
                Task *task = take_first(&ended);

                task->done(task);
        }
}

void thread_wait(Thread *t) {
        (void) pthread_mutex_lock(&t->lock);
        while (t->queued.first || t->busy)
                (void) pthread_cond_wait(&t->changed, &t->lock);
        (void) pthread_mutex_unlock(&t->lock);
        thread_dispatch(t);
}

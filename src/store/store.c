/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "basic/time-util.h"
#include "store/store-rows.h"
#include "store/store.h"

/* The changes that the thread writes, and then the result. */
typedef struct Transaction {
        bool anew;
        Changes everything, changes;
        StoreCommitted callback;
        void *userdata;
        int error;
} Transaction;

/* The thread writes while the owner goes on: one transaction at a time. */
struct Store {
        StoreFile file; /* only the thread uses it while a transaction is queued */
        Changes changes;
        int error;               /* negative once failed */
        bool handed_over;        /* a transaction was handed over and its callback is due */
        Transaction transaction; /* only the thread uses it while it is queued */
        pthread_t thread;
        int fd; /* readable when the transaction is written; -EBADF: no thread */
        pthread_mutex_t lock;
        pthread_cond_t changed;     /* one of these has changed: */
        bool queued, written, stop; /* transaction to be written; transaction written; thread to end */
};

static void *run_store_thread(void *userdata) {
        Store *s = userdata;
        Transaction *t = &s->transaction;

        (void) pthread_mutex_lock(&s->lock);
        for (;;) {
                while (!s->queued && !s->stop)
                        (void) pthread_cond_wait(&s->changed, &s->lock);
                if (!s->queued)
                        break;
                (void) pthread_mutex_unlock(&s->lock);
                t->error = t->anew ? store_file_write_anew(&s->file, &t->everything, &t->changes)
                                   : store_file_commit(&s->file, &t->changes);
                (void) pthread_mutex_lock(&s->lock);
                s->queued = false;
                s->written = true;
                (void) pthread_cond_broadcast(&s->changed);
                (void) eventfd_write(s->fd, 1);
        }
        (void) pthread_mutex_unlock(&s->lock);
        return NULL;
}

/* Blocks all signals in the thread: the owner handles them. */
static int start_thread(Store *s) {
        _cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        sigset_t all, before;
        int r;

        if (fd < 0)
                return -errno;
        (void) sigfillset(&all);
        r = pthread_sigmask(SIG_SETMASK, &all, &before);
        if (r != 0)
                return -r;
        r = pthread_create(&s->thread, NULL, run_store_thread, s);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return -r;
        s->fd = TAKE_FD(fd);
        return 0;
}

static void stop_thread(Store *s) {
        store_wait(s);
        (void) pthread_mutex_lock(&s->lock);
        s->stop = true;
        (void) pthread_cond_broadcast(&s->changed);
        (void) pthread_mutex_unlock(&s->lock);
        (void) pthread_join(s->thread, NULL);
        s->fd = fd_close(s->fd);
}

int store_open(const char *path, const Schema *schema, Store **ret) {
        _cleanup_(store_closep) Store *s = NULL;
        int r;

        assert(path && strchr(path, '/'));
        assert(schema && ret);

        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (Store){
                .file = { .schema = schema, .path = strdup(path) },
                .fd = -EBADF,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER,
        };
        if (!s->file.path)
                return -ENOMEM;
        r = store_file_open(&s->file, &s->error);
        if (r < 0)
                return r;
        r = start_thread(s);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

Store *store_close(Store *s) {
        if (!s)
                return NULL;
        if (s->fd >= 0)
                stop_thread(s);
        store_file_done(&s->file);
        changes_done(&s->changes);
        free(s);
        return NULL;
}

int store_get_error(const Store *s) {
        return s->error;
}

int store_set_aside(Store *s, uint64_t now_usec, char **ret_name) {
        char *kept = strdup_printf("%s.damaged-%llu", s->file.path, (unsigned long long) now_usec), *name;

        name = kept ? strdup(kept) : NULL;
        if (!name) {
                free(kept);
                return -ENOMEM;
        }
        free(s->file.kept);
        s->file.kept = kept;
        if (s->error == 0)
                s->error = -EUCLEAN;
        *ret_name = name;
        return 0;
}

int store_load(Store *s, Volumes *all, StoreSkipped skipped, void *userdata) {
        assert(s && all && skipped);

        return rows_load(&s->file, all, &(Skipped){ skipped, userdata });
}

int store_get_boot_id(Store *s, char **ret) {
        assert(s && ret);

        return rows_get_boot_id(&s->file, ret);
}

int store_get_job_numbers(Store *s, uint64_t *ret) {
        assert(s && ret);

        return rows_get_job_numbers(&s->file, ret);
}

/* --- changes --- */

void store_put_boot_id(Store *s, const char *boot_id) {
        rows_put_boot_id(&s->changes, boot_id);
}

void store_put_job_numbers(Store *s, uint64_t end) {
        rows_put_job_numbers(&s->changes, end);
}

void store_put_volume(Store *s, const Volume *v) {
        rows_put_volume(&s->changes, v);
}

void store_put_holder(Store *s, const Volume *v, const Holder *h) {
        rows_put_holder(&s->changes, v, h);
}

void store_delete_volume(Store *s, const char *id) {
        rows_delete_volume(&s->changes, id);
}

void store_delete_holder(Store *s, const char *target) {
        rows_delete_holder(&s->changes, target);
}

bool store_is_dirty(const Store *s) {
        return s->changes.first || s->changes.incomplete;
}

void store_drop_changes(Store *s) {
        changes_done(&s->changes);
}

/* --- transactions --- */

static void queue_transaction(Store *s, const Transaction *t) {
        s->transaction = *t;
        s->handed_over = true;
        (void) pthread_mutex_lock(&s->lock);
        s->queued = true;
        (void) pthread_cond_broadcast(&s->changed);
        (void) pthread_mutex_unlock(&s->lock);
}

void store_hand_over(Store *s, StoreCommitted callback, void *userdata) {
        assert(s && !s->handed_over);
        assert(callback);

        if (s->error < 0) {
                changes_done(&s->changes);
                callback(userdata, s->error);
                return;
        }
        queue_transaction(
                s, &(Transaction){ .changes = TAKE_STRUCT(s->changes), .callback = callback, .userdata = userdata });
}

void store_hand_over_anew(Store *s, const Volumes *all, const char *boot_id, StoreCommitted callback,
                          void *userdata) {
        Transaction t = { .anew = true, .callback = callback, .userdata = userdata };

        assert(s && !s->handed_over);
        assert(all && boot_id && callback);

        rows_put_everything(&t.everything, all, boot_id);
        t.changes = TAKE_STRUCT(s->changes);
        queue_transaction(s, &t);
}

static void on_store_committed(void *userdata, int error) {
        *(int *) userdata = error;
}

int store_commit(Store *s) {
        int r = 0;

        store_hand_over(s, on_store_committed, &r);
        store_wait(s);
        return r;
}

int store_get_fd(const Store *s) {
        return s->fd;
}

void store_dispatch(Store *s) {
        Transaction t;
        eventfd_t n;
        bool written;

        (void) eventfd_read(s->fd, &n);
        (void) pthread_mutex_lock(&s->lock);
        written = s->written;
        s->written = false;
        (void) pthread_mutex_unlock(&s->lock);
        if (!written)
                return;
        t = TAKE_STRUCT(s->transaction);
        s->handed_over = false;
        s->error = t.error;
        changes_done(&t.everything);
        changes_done(&t.changes);
        t.callback(t.userdata, t.error);
}

void store_wait(Store *s) {
        (void) pthread_mutex_lock(&s->lock);
        while (s->queued)
                (void) pthread_cond_wait(&s->changed, &s->lock);
        (void) pthread_mutex_unlock(&s->lock);
        store_dispatch(s);
}

int store_wait_until(Store *s, uint64_t usec) {
        const struct timespec end = { .tv_sec = (time_t) (usec / USEC_PER_SEC),
                                      .tv_nsec = (long) (usec % USEC_PER_SEC * NSEC_PER_USEC) };
        bool queued;
        int r = 0;

        (void) pthread_mutex_lock(&s->lock);
        while (s->queued && r == 0)
                r = pthread_cond_clockwait(&s->changed, &s->lock, CLOCK_MONOTONIC, &end);
        queued = s->queued;
        (void) pthread_mutex_unlock(&s->lock);
        if (queued)
                return -ETIMEDOUT;
        store_dispatch(s);
        return 0;
}

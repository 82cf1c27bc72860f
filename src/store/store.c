/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/store-rows.h"
#include "store/store-thread.h"
#include "store/store.h"

struct Store {
        StoreFile file; /* once it is open, of the thread alone while that has something to do */
        Thread *thread;
        Changes changes;
        bool handed_over; /* a transaction is under way */
        int error;        /* negative once failed */
};

int store_open(const char *path, const Schema *schema, Store **ret) {
        _cleanup_(store_closep) Store *s = NULL;
        int r;

        assert(path && strchr(path, '/'));
        assert(schema && ret);

        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->file.schema = schema;
        s->file.path = strdup(path);
        if (!s->file.path)
                return -ENOMEM;
        r = store_file_open(&s->file, &s->error);
        if (r < 0)
                return r;
        r = thread_start(&s->thread);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

Store *store_close(Store *s) {
        if (!s)
                return NULL;
        thread_stop(s->thread);
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

/* --- changes --- */

void store_put_boot_id(Store *s, const char *boot_id) {
        rows_put_boot_id(&s->changes, boot_id);
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

typedef struct Transaction {
        Task task;
        Store *store;
        bool anew;
        Changes everything, changes;
        int error;
        StoreCommitted callback;
        void *userdata;
} Transaction;

static void run_transaction(Task *task) {
        Transaction *t = (Transaction *) task;
        StoreFile *f = &t->store->file;

        t->error =
                t->anew ? store_file_write_anew(f, &t->everything, &t->changes) : store_file_commit(f, &t->changes);
}

static void transaction_done(Task *task) {
        Transaction *t = (Transaction *) task;
        StoreCommitted callback = t->callback;
        void *userdata = t->userdata;
        int error = t->error;

        t->store->handed_over = false;
        t->store->error = error;
        changes_done(&t->everything);
        changes_done(&t->changes);
        free(t);
        callback(userdata, error);
}

static Transaction *transaction_new(Store *s, StoreCommitted callback, void *userdata) {
        Transaction *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        *t = (Transaction){
                .task = { .run = run_transaction, .done = transaction_done },
                .store = s,
                .changes = s->changes,
                .callback = callback,
                .userdata = userdata,
        };
        s->changes = (Changes){ 0 };
        return t;
}

static void refuse(Store *s, int error, StoreCommitted callback, void *userdata) {
        changes_done(&s->changes);
        s->error = error;
        callback(userdata, error);
}

static void queue(Transaction *t) {
        t->store->handed_over = true;
        thread_queue(t->store->thread, &t->task);
}

void store_hand_over(Store *s, StoreCommitted callback, void *userdata) {
        Transaction *t;

        assert(s && !s->handed_over);
        assert(callback);

        if (s->error < 0) {
                refuse(s, s->error, callback, userdata);
                return;
        }
        t = transaction_new(s, callback, userdata);
        if (t)
                queue(t);
        else
                refuse(s, -ENOMEM, callback, userdata);
}

void store_hand_over_anew(Store *s, const Volumes *all, const char *boot_id, StoreCommitted callback,
                          void *userdata) {
        Transaction *t;

        assert(s && !s->handed_over);
        assert(all && boot_id && callback);

        t = transaction_new(s, callback, userdata);
        if (!t) {
                refuse(s, -ENOMEM, callback, userdata);
                return;
        }
        t->anew = true;
        rows_put_everything(&t->everything, all, boot_id);
        queue(t);
}

static void on_committed(void *userdata, int error) {
        *(int *) userdata = error;
}

int store_commit(Store *s) {
        int r = 0;

        store_hand_over(s, on_committed, &r);
        store_wait(s);
        return r;
}

int store_get_fd(const Store *s) {
        return thread_get_fd(s->thread);
}

void store_dispatch(Store *s) {
        thread_dispatch(s->thread);
}

void store_wait(Store *s) {
        thread_wait(s->thread);
}

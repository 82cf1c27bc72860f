/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>

#include "tree/issues.h"

int issues_init(Issues *i) {
        *i = (Issues){ .lock = PTHREAD_MUTEX_INITIALIZER, .list = calloc(WALK_ISSUES_MAX, sizeof(WalkIssue)) };
        return i->list ? 0 : -ENOMEM;
}

void issues_done(Issues *i) {
        _cleanup_(walk_result_done) WalkResult rest = { 0 };

        issues_take(i, &rest);
}

void issues_add(Issues *i, char *path, char *text, int error) {
        unsigned n;

        if (error != 0)
                atomic_fetch_add(&i->failed, 1);
        pthread_mutex_lock(&i->lock);
        n = atomic_load(&i->n);
        if (path && n < WALK_ISSUES_MAX) {
                i->list[n] = (WalkIssue){ .path = TAKE_PTR(path), .text = TAKE_PTR(text), .error = error };
                atomic_store(&i->n, n + 1);
        }
        pthread_mutex_unlock(&i->lock);
        free(path);
        free(text);
}

void issues_take(Issues *i, WalkResult *ret) {
        ret->n_issues = atomic_exchange(&i->n, 0);
        ret->issues = TAKE_PTR(i->list);
}

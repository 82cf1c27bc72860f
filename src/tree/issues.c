/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "tree/issues.h"

int issues_init(Issues *i) {
        *i = (Issues){ 0 };
        return -pthread_mutex_init(&i->lock, NULL);
}

void tree_issues_free(TreeIssue *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(list[i].path);
                free(list[i].text);
                list[i] = (TreeIssue){ 0 };
        }
}

void issues_done(Issues *i) {
        tree_issues_free(i->list, atomic_load(&i->n));
        (void) pthread_mutex_destroy(&i->lock);
}

void issues_add(Issues *i, char *path, char *text, int error) {
        TreeIssue issue = { .path = path, .text = text, .error = error };
        unsigned n;

        if (error != 0)
                atomic_fetch_add(&i->failed, 1);
        pthread_mutex_lock(&i->lock);
        n = atomic_load(&i->n);
        if (path && n < TREE_ISSUES_MAX) {
                i->list[n] = issue;
                atomic_store(&i->n, n + 1);
                issue = (TreeIssue){ 0 };
        }
        pthread_mutex_unlock(&i->lock);
        tree_issues_free(&issue, 1);
}

size_t issues_take(Issues *i, TreeIssue *ret) {
        size_t n = atomic_exchange(&i->n, 0);

        memcpy(ret, i->list, sizeof(i->list));
        return n;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/commit.h"
#include "state/history.h"

typedef struct Query {
        char *id;
        StoreHistory callback;
        void *userdata;
} Query;

static Query *query_free(Query *q) {
        free(q->id);
        free(q);
        return NULL;
}
DEFINE_CLEANUP_FUNC(Query *, query_free);

/* What is on disk can be read, whether or not the last changes could be written. */
static void on_recorded(State *s, int error, void *userdata) {
        _cleanup_(query_freep) Query *q = userdata;

        if (error != -ECANCELED)
                error = store_get_history(s->store, q->id, q->callback, q->userdata);
        if (error < 0)
                q->callback(q->userdata, error, &(History){ 0 });
}

int history_read(State *s, const char *id, StoreHistory callback, void *userdata) {
        _cleanup_(query_freep) Query *q = calloc(1, sizeof(*q));
        int r;

        if (!q)
                return -ENOMEM;
        *q = (Query){ .id = id ? strdup(id) : NULL, .callback = callback, .userdata = userdata };
        if (id && !q->id)
                return -ENOMEM;
        r = commit_then(s, on_recorded, q);
        if (r < 0)
                return r;
        (void) TAKE_PTR(q);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>

#include "tree/read.h"
#include "tree/visit.h"
#include "tree/work.h"

enum {
        BATCH_ENTRIES = 1024,
        FEW_ENTRIES = 64, /* are visited sooner than another thread has woken up */
};

/* Entries of a large chunk. */
typedef struct Batch {
        Work work;
        Chunk *chunk;
        size_t start, end;
} Batch;

static void finish_dir(Thread *t, const Dir *d) {
        Walk *w = t->walk;
        bool modified = walk_changes(w) && dir_is_modified(w, d, false);

        /* The root comes last, after the sync. */
        if (d->parent) {
                visit_entry(t, d, NULL);
                modified = modified || (walk_changes(w) && dir_is_modified(w, d, true));
        }
        if (modified)
                atomic_fetch_add(&w->modified, 1);
}

/* Lets one of its pending ones go. With the last one the directory is finished, after all that is beneath it, and so,
 * perhaps, are those above it. */
static void release_dir(Thread *t, Dir *d) {
        Walk *w = t->walk;

        while (d && atomic_fetch_sub(&d->pending, 1) == 1) {
                Dir *parent = d->parent;

                if (d->fd >= 0 && !queue_is_stopped(&w->queue))
                        finish_dir(t, d);
                dir_free(w, d);
                d = parent;
        }
}

static void visit_entries(Thread *t, const Chunk *c, size_t start, size_t end) {
        for (size_t i = start; i < end && !queue_is_stopped(&t->walk->queue); i++)
                visit_entry(t, c->dir, c->data + c->entries[i].offset);
}

static void visit_chunk(Thread *t, Chunk *c) {
        visit_entries(t, c, 0, c->n_entries);
        if (c->granted == 0 && !t->spare)
                t->spare = c;
        else
                chunk_free(c, &t->walk->chunk_bytes);
}

static void push_front(Found *f, Work *work) {
        work->next = f->first;
        f->first = work;
        if (!f->last)
                f->last = work;
}

/* Hands a large chunk out to all threads. */
static int share_chunk(Chunk *c, Found *f) {
        size_t n = (c->n_entries + BATCH_ENTRIES - 1) / BATCH_ENTRIES;

        for (size_t i = n; i-- > 0;) {
                Batch *b = malloc(sizeof(*b));

                if (!b)
                        return -ENOMEM;
                *b = (Batch){
                        .work = { .kind = WORK_BATCH },
                        .chunk = c,
                        .start = i * BATCH_ENTRIES,
                        .end = i + 1 == n ? c->n_entries : (i + 1) * BATCH_ENTRIES,
                };
                atomic_fetch_add(&c->batches, 1);
                atomic_fetch_add(&c->dir->pending, 1);
                push_front(f, &b->work);
        }
        return 0;
}

static void release_batch(Thread *t, Batch *b) {
        Chunk *c = b->chunk;
        Dir *d = c->dir;

        if (atomic_fetch_sub(&c->batches, 1) == 1)
                chunk_free(c, &t->walk->chunk_bytes);
        free(b);
        release_dir(t, d);
}

/* Sub-directories and batches are there for every thread, the rest of the directory below them on the stack. One of
 * them stays in hand where little is to be done before it: then nobody has to be woken. */
static Work *hand_out(Thread *t, Found *f, bool keep_one) {
        Work *kept = NULL;

        if (keep_one && f->first) {
                kept = f->first;
                f->first = kept->next;
                if (!f->first)
                        f->last = NULL;
        }
        if (f->first)
                queue_push(&t->walk->queue, f->first, f->last);
        return kept;
}

static void append(Found *f, Work *work) {
        work->next = NULL;
        if (f->last)
                f->last->next = work;
        else
                f->first = work;
        f->last = work;
}

static Work *process_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        Walk *w = t->walk;
        Work *next;

        chunk_sort(c);
        sort_subdirs(f);
        if (f->more) {
                atomic_fetch_add(&d->pending, 1); /* what is pending until now is the reading, which goes on */
                append(f, &d->work);
        }

        if (c->n_entries <= (size_t) 2 * BATCH_ENTRIES) {
                next = hand_out(t, f, c->n_entries <= FEW_ENTRIES);
                visit_chunk(t, c);
        } else {
                if (share_chunk(c, f) < 0) {
                        queue_stop(&w->queue, -ENOMEM);
                        if (atomic_load(&c->batches) == 0)
                                chunk_free(c, &w->chunk_bytes);
                }
                next = hand_out(t, f, false);
        }
        release_dir(t, d);
        return next;
}

static int open_dir(Walk *w, Dir *d) {
        int r;

        if (d->fd >= 0)
                return 0;
        r = dir_open(w, d);
        /* It may be elsewhere now. */
        if (r == -ENOENT)
                atomic_fetch_add(&w->modified, 1);
        else if (r < 0)
                dir_add_issue(w, d, NULL, NULL, -r);
        return r;
}

static Work *step_dir(Thread *t, Dir *d) {
        Walk *w = t->walk;
        Found f = { 0 };
        Chunk *c;
        int r;

        count(&t->steps);
        if (open_dir(w, d) < 0) {
                release_dir(t, d);
                return NULL;
        }

        c = t->spare ? TAKE_PTR(t->spare) : chunk_new();
        if (!c) {
                queue_stop(&w->queue, -ENOMEM);
                release_dir(t, d);
                return NULL;
        }
        c->dir = d;
        c->used = c->n_entries = 0;
        r = read_chunk(t, d, c, &f);
        if (r == -ENOMEM)
                queue_stop(&w->queue, r);
        else if (r < 0)
                dir_add_issue(w, d, NULL, NULL, -r);
        return process_chunk(t, d, c, &f);
}

Work *work_step(Thread *t, Work *work) {
        Batch *b = (Batch *) work;

        if (work->kind == WORK_DIR)
                return step_dir(t, (Dir *) work);
        visit_entries(t, b->chunk, b->start, b->end);
        release_batch(t, b);
        return NULL;
}

void work_discard(Thread *t, Work *work) {
        if (work->kind == WORK_BATCH)
                release_batch(t, (Batch *) work);
        else
                release_dir(t, (Dir *) work);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "tree/queue.h"
#include "tree/tree.h"

/* How the engine is made; each file uses only those below it:
 *
 *   passes.c   the walk as a whole: its threads and what they have counted, both passes, the sync, the root
 *   work.c     what a thread does next: it reads a directory in chunks of names, and visits a batch of them
 *   dir.c      directories that are open, and whether they were modified; visits of entries; what went wrong,
 *              by its path
 *   queue.c    what there is to do */

typedef struct Walk {
        const TreeSpec *spec;
        unsigned pass;
        uint64_t since_nsec;       /* when the first pass began, less what a clock may lag behind */
        uint64_t pass_since_nsec;  /* the same of this pass */
        uint64_t root_ctime_nsec;  /* when this pass began */
        bool root_changed;         /* by the visitor */
        atomic_bool times_set;     /* somebody sets the times of directories: they don't tell what was modified */
        _Atomic uint64_t modified; /* directories that were modified in this pass while they were walked, or that were
                                     * gone before they were opened: they may be elsewhere now */
        atomic_int sync_error;     /* a positive errno */
        _Atomic uint64_t next_serial, n_dirs, chunk_bytes;
        _Atomic uint64_t next_nsec; /* when the next entries may be visited, if there is a limit */
        Queue queue;

        /* All errors are counted, the first entries named. */
        _Atomic uint64_t failed;
        atomic_uint n_issues;
        WalkIssue *issues; /* room for WALK_ISSUES_MAX */
        pthread_mutex_t issues_lock;
} Walk;

/* A thread's counts, on a cache line of its own. */
typedef struct Thread {
        _Alignas(64) Walk *walk;
        pthread_t id;
        _Atomic uint64_t done, changed, mismatched, misowned, skipped;
        _Atomic uint64_t skipped_again; /* in the second pass, where what was counted may come again */
        _Atomic uint64_t steps;         /* of any kind, in both passes: that it gets on */
        uint64_t cwd;                   /* serial of the directory that it is in; 0: none of the tree */
        uint64_t granted;               /* entries that it may visit without waiting, if there is a limit */
        struct Chunk *spare;
        void *scratch; /* the visitor's */
} Thread;

typedef struct Dir {
        Work work;
        uint64_t inode;      /* 0 for the root */
        struct Dir *parent;  /* kept by our being one of its pending ones; NULL for the root */
        int fd;              /* -EBADF until it is opened */
        uint64_t serial;     /* of the descriptor, to tell whether a thread is there already */
        atomic_uint pending; /* being read, sub-directories, batches: finished with the last of them */
        bool settled; /* the second pass: nothing has come into it, or into any above it, since the first began */
        char name[];
} Dir;

/* Only its thread writes it. */
static inline void count_one(_Atomic uint64_t *counter) {
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline bool walk_changes(const Walk *w) {
        return w->spec->visitor && w->spec->visitor->changes;
}

static inline bool walk_names_issues(const Walk *w) {
        return atomic_load(&w->n_issues) < WALK_ISSUES_MAX;
}

/* Does what there is to do until the queue has ended. */
void work_run(Thread *t);
/* Takes back what is left after a walk that was stopped. */
void work_discard(Thread *t, Work *work);

/* Visits an entry of d that is no directory, or, with name NULL, d itself. */
void visit_entry(Thread *t, const Dir *d, const char *name);

/* A new directory, not open. NULL on lack of memory. */
Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode);
void dir_free(Walk *w, Dir *d);
/* Opens it. -ENOENT if it is no directory any more, -EUCLEAN if it never was one. */
int dir_open(Walk *w, Dir *d) _warn_unused_;
/* Whether a directory was modified since this pass began: something has come into it, or gone. */
bool dir_was_modified(const Walk *w, int fd);
/* The same of one of the walk, also if somebody has set its times. changed: the visitor has changed it. */
bool dir_is_modified(Walk *w, const Dir *d, bool changed);
/* Names an entry of it, if that is one of the first; text is taken over. name: NULL for itself; d: NULL for
 * the root. error: positive errno. */
void dir_add_issue(Walk *w, const Dir *d, const char *name, char *text, int error);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "tree/queue.h"
#include "tree/tree.h"

/* The files of the engine; each file uses only those below it:
 *
 *   passes.c   the whole walk: threads and their counts, both passes, the sync, the root
 *   work.c     the next step of a thread: read a directory in chunks of names, visit a batch of names
 *   dir.c      open directories, and whether they were modified; visits of entries; the paths of entries that
 *              failed
 *   queue.c    the work that is left */

typedef struct Walk {
        const TreeSpec *spec;
        unsigned pass;
        uint64_t since_nsec;      /* the earliest stamp of a change since the first pass began */
        uint64_t pass_since_nsec; /* the same for this pass */
        uint64_t root_ctime_nsec; /* the root's ctime when this pass began */
        bool root_changed;        /* the visitor has changed the root */
        atomic_bool times_set;    /* another program sets mtimes: an old mtime does not prove "unchanged" */
        /* directories that were modified in this pass during their walk, or that were gone before the walk
         * opened them and may be elsewhere now */
        _Atomic uint64_t modified;
        atomic_int sync_error; /* a positive errno */
        _Atomic uint64_t next_serial, n_dirs, chunk_bytes;
        bool reads_parents;             /* readdir(3) tells the number of ".." from the disk */
        uint64_t dirs_before, dirs_max; /* opened before this pass; possible in this pass: dirs_limit() */
        _Atomic uint64_t next_nsec;     /* start of the next free slice, if entries_per_sec limits the walk */
        Queue queue;

        /* All errors are counted; only the first entries are named. */
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
        _Atomic uint64_t skipped_again; /* in the second pass, which may visit entries of the first again */
        _Atomic uint64_t steps;         /* of any kind, in both passes: shows progress */
        uint64_t cwd;                   /* serial of the working directory; 0: none of the tree */
        uint64_t granted;               /* entries left in the thread's slice, if there is a limit */
        struct Chunk *spare;
        void *scratch; /* the visitor's memory */
} Thread;

typedef struct Dir {
        Work work;
        uint64_t inode;      /* 0 for the root */
        struct Dir *parent;  /* held by its count of pending work; NULL for the root */
        int fd;              /* -EBADF until opened */
        uint64_t number;     /* of its inode, once it is open; the name may have said another one */
        uint64_t serial;     /* number of the opened directory, compared with Thread.cwd */
        atomic_uint pending; /* the reading, sub-directories, batches; the last one finishes the directory */
        /* in the second pass: since the first pass began, nothing was moved into the directory or into any
         * directory above it */
        bool settled;
        char name[];
} Dir;

/* Only the thread that owns the counter writes the counter. */
static inline void count_one(_Atomic uint64_t *counter) {
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline bool walk_changes(const Walk *w) {
        return w->spec->visitor && w->spec->visitor->changes;
}

static inline bool walk_names_issues(const Walk *w) {
        return atomic_load(&w->n_issues) < WALK_ISSUES_MAX;
}

/* Takes and does work until the queue has ended. */
void work_run(Thread *t);
/* Releases work that is left after the walk was stopped. */
void work_discard(Thread *t, Work *work);

/* Visits an entry of d that is no directory, or d itself if name is NULL. */
void visit_entry(Thread *t, const Dir *d, const char *name);

/* Returns a new directory that is not open yet, or NULL without memory. */
Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode);
void dir_free(Walk *w, Dir *d);
/* Begins to count the directories of the pass, which are damage if they are more than the file system can
 * have. Returns 0 or a negative errno. */
int dirs_limit(Walk *w) _warn_unused_;
/* Whether the number that the directory has as that of its parent, on disk, is another one's. */
bool dir_is_of_another(Walk *w, const Dir *d, uint64_t parent);
/* Opens the directory. Returns 0 or a negative errno: -ENOENT if d is no directory any more, -EUCLEAN if d
 * never was one, or the pass has opened more than there can be, which ends the walk. */
int dir_open(Walk *w, Dir *d) _warn_unused_;
/* Whether an entry was added to the directory, or removed from it, since this pass began. */
bool dir_was_modified(const Walk *w, int fd);
/* The same for a directory of the walk, also if another program sets its times. changed: the visitor has
 * changed the directory. */
bool dir_is_modified(Walk *w, const Dir *d, bool changed);
/* Counts an error and, for the first WALK_ISSUES_MAX entries, names the entry. Takes text over. name: NULL
 * for d itself; d: NULL for the root. error: a positive errno, or 0 for a difference. */
void dir_add_issue(Walk *w, const Dir *d, const char *name, char *text, int error);

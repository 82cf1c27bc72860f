/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/xattr.h>

#include "basic/string-util.h"
#include "label/selinux.h"
#include "label/tree.h"

/* How the engine is made. The threads share one stack of work: directories to be opened or read on, and batches of
 * names. What is pushed last is taken first, so the walk goes to the depth first, and what waits stays little:
 * a directory is read in chunks, and read on only when what its chunk held has been taken from the stack.
 *
 *   tree.c        the walk as a whole: threads, passes, the root
 *   tree-queue.c  the stack
 *   tree-dir.c    directories: open, read, finish
 *   tree-entry.c  one entry: compare, write; of its label
 *   tree-owner.c  the same of its group and mode
 *   tree-issue.c  what went wrong, and where */

enum {
        LABEL_MAX = 4096, /* bytes of a label that is compared */
        BATCH_ENTRIES = 1024,
        SUBDIRS_PER_CHUNK = 1024,
        FEW_BYTES = 1280,            /* of names: a few, and any one; in user space they may have 1024 bytes */
        DIRS_MAX = 16384,            /* known at a time; beyond that each directory gives one more */
        CHUNK_BYTES_MIN = 32 * 1024, /* of names, read at once; twice as many are always granted */
        CHUNK_BYTES_STEP = 256 * 1024,
        CHUNK_BYTES_MAX = 4 << 20,                /* of one chunk */
        CHUNKS_BYTES_MAX = 8 << 20,               /* of all, beyond what is always granted */
        CHUNK_ENTRIES_MAX = CHUNK_BYTES_MAX / 24, /* a name takes at least so many bytes of getdents64(2)'s */
};

typedef struct Walk Walk;
typedef struct Dir Dir;
typedef struct Chunk Chunk;

typedef enum WorkKind { WORK_DIR, WORK_BATCH } WorkKind;

/* Something to do; the first member of what it is about. */
typedef struct Work {
        struct Work *next;
        WorkKind kind;
} Work;

struct Dir {
        Work work;
        uint64_t inode; /* 0 for the root */
        Dir *parent;    /* kept by our being one of its pending ones; NULL for the root */
        int fd;
        uint64_t serial;     /* of the descriptor, to tell whether a thread is there already */
        atomic_uint pending; /* being read, sub-directories, batches: finished with the last of them */
        bool settled; /* the second pass: nothing has come into it, or into any above it, since the first began */
        char name[];
};

typedef struct Entry {
        uint64_t inode;
        uint32_t offset; /* of its name in the chunk's data */
} Entry;

/* Names read from one directory. Its memory is mapped once, at its largest size; only what has been written to
 * counts.
 */
struct Chunk {
        atomic_uint batches; /* that have not been done; whoever does the last frees it */
        Dir *dir;
        size_t used;    /* of data */
        size_t granted; /* likewise, of CHUNKS_BYTES_MAX */
        size_t n_entries;
        Entry entries[CHUNK_ENTRIES_MAX];
        char data[CHUNK_BYTES_MAX];
};

typedef struct Batch {
        Work work;
        Chunk *chunk;
        size_t start, end;
} Batch;

/* What is visited, and how it is reached. */
typedef struct Spot {
        const Dir *dir;
        const char *name; /* in dir; NULL for dir itself */
        const char *path; /* from where the thread is: name, or "." for dir itself; or one of /proc/self/fd */
        bool follow;      /* path, as it is one of /proc/self/fd */
        int fd;           /* that is surely its own: dir's, or opened with O_PATH; otherwise -EBADF */
} Spot;

/* What was written of an entry. */
enum { WROTE_LABEL = 1, WROTE_GROUP = 2, WROTE_MODE = 4 };

/* Counts of one thread, on a cache line of its own. */
typedef struct Thread {
        _Alignas(64) Walk *walk;
        pthread_t id;
        _Atomic uint64_t done, changed, mismatched, misowned, skipped;
        _Atomic uint64_t skipped_later; /* in the second pass, where what was counted may come again */
        _Atomic uint64_t steps;         /* of any kind, in both passes: that it gets on */
        uint64_t cwd;                   /* serial of the directory that it is in */
        uint64_t granted; /* entries that it may visit before it asks for more, where their rate is limited */
        Chunk *spare;
        char label[LABEL_MAX];
        char other[LABEL_MAX]; /* a label that was found to be another one than wanted; "" for none yet */
} Thread;

struct Walk {
        const TreeSpec *spec;
        size_t context_size; /* with the trailing NUL, as it is written; 0 if labels don't matter */
        bool blind;          /* labels are written without a look */
        bool root_written;
        unsigned pass;
        uint64_t since_nsec;        /* when the first pass began, less what a clock may lag behind */
        uint64_t pass_since_nsec;   /* the same of this pass */
        uint64_t root_ctime_nsec;   /* when this pass began */
        atomic_bool times_set;      /* somebody sets the times of directories: they don't tell what has changed */
        atomic_bool no_fchmodat2;   /* the kernel has no such call */
        _Atomic uint64_t unsettled; /* directories that changed while they were being walked, in this pass, or were
                                     * gone before they were opened: they may be elsewhere now */
        atomic_bool stop;
        atomic_int sync_error; /* a positive errno */
        atomic_int error;      /* a negative errno of ours, which ended the walk */
        _Atomic uint64_t failed, next_serial, n_dirs, chunk_bytes, next_nsec;

        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t wake, idle;
        Work *stack;
        unsigned n_working, n_waiting;
        bool ended;
        TreeIssue issues[TREE_ISSUES_MAX];
        atomic_size_t n_issues;
};

/* tree-queue.c: waits for something to do, having done what was taken before; NULL when all is done. */
Work *queue_take(Walk *w, bool had_work);
/* Puts a chain of work on the stack, first to last: the first one will be taken first. */
void queue_push(Walk *w, Work *first, Work *last);
/* Ends the walk with a negative errno. */
void walk_stop(Walk *w, int error);

/* tree-dir.c: opens the directory if need be, and reads a chunk of it. Returns what this thread is to do next, or
 * NULL.
 */
Work *dir_step(Thread *t, Dir *d);
Work *batch_step(Thread *t, Batch *b);
/* Whether something has come into an open directory, or gone, since this pass began. */
bool dir_has_changed(const Walk *w, int fd);
/* A new directory, not open. NULL on lack of memory. */
Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode);
/* Takes back what is left after a walk that was stopped. */
void work_discard(Thread *t, Work *work);
Chunk *chunk_free(Walk *w, Chunk *c);

/* tree-entry.c: an entry of d that is no directory, or, with name NULL, d itself. */
void entry_visit(Thread *t, const Dir *d, const char *name);

/* tree-owner.c: group and mode. By its descriptor, where it has one, otherwise by its path. Both return 0, also if it
 * is gone, or a negative errno. */
int owner_verify(const Ownership *o, const Spot *s, TreeIssue *found);
/* Sets *written if anything was, even if not all. */
int owner_change(Walk *w, const Spot *s, unsigned *written);

/* tree-issue.c: names what is wrong with an entry, if it is one of the first; all but its path is copied from what.
 * Errors are counted; what differs is by the caller. name: in d; NULL for d itself. */
void issue_add(Walk *w, const Dir *d, const char *name, const TreeIssue *what);
/* error: positive errno. */
void issue_add_error(Walk *w, const Dir *d, const char *name, int error);
void issues_done(TreeIssue *issues, size_t n);

static inline void count(_Atomic uint64_t *counter) {
        /* Only its thread writes it. */
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* It was removed or renamed meanwhile. */
static inline bool is_gone(int error) {
        return error == -ENOENT || error == -ESTALE;
}

static inline bool walk_is_stopped(Walk *w) {
        return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

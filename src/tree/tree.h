/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"

/* The tree engine: visits every entry beneath a directory, with several threads, and counts and names what
 * went wrong. What a visit does is its caller's. Directories are read and entries named by descriptors,
 * never by a path from the root, so that nothing that is renamed or exchanged for a symbolic link meanwhile
 * leads elsewhere; memory does not grow with the tree. */

enum {
        TREE_THREADS_MAX = 64,
        TREE_PROGRESS_USEC = 250000,
};

/* How a visitor reaches an entry: by the descriptor if there is one, otherwise by the path. */
typedef struct TreeEntry {
        int fd;           /* the entry itself, a directory's, or opened with O_PATH; otherwise -EBADF */
        const char *path; /* from the thread's working directory, or one of /proc/self/fd */
        bool follow;      /* the path is one of /proc/self/fd, and a link to the entry */
        bool again;       /* this is the second look */
        bool describe;    /* what differs is to be described */
} TreeEntry;

/* The result of a visit. */
typedef struct TreeVisit {
        bool changed;
        bool mismatched, misowned;
        char *text; /* what differs, one printable line, if it is to be described */
} TreeVisit;

typedef struct Visitor Visitor;

struct Visitor {
        /* Compares or changes one entry, in several threads at once. scratch is memory of the thread's own,
         * zero at first. Returns 0, also if the entry is gone, or a negative errno of it: -EISDIR if it is
         * seen to be a directory, and has no descriptor. */
        int (*visit)(const Visitor *v, const TreeEntry *e, void *scratch, TreeVisit *ret);
        /* The same of the root, when all beneath has been visited and, if it was changed, is on disk. */
        int (*finish)(const Visitor *v, int root, TreeVisit *ret);
        size_t scratch_size;
        bool changes;             /* entries, rather than comparing them only */
        bool visits_dirs_by_path; /* also needs a path for what has a descriptor */
};

typedef struct TreeSpec {
        int fd;                   /* the root, open for reading, on a mount in which nothing else is mounted */
        const Visitor *visitor;   /* NULL: entries are only counted */
        bool part;                /* the root is a directory of a larger file system: what has several hard links is
                                   * not changed */
        unsigned threads;         /* 0: chosen to suit the machine */
        uint64_t entries_per_sec; /* at most; 0: no limit */
        uint64_t max_entries;     /* if nothing is changed: it ends when so many were visited; 0: all */
        /* Called by the calling thread every TREE_PROGRESS_USEC in which the walk got on, and for a while
         * during the sync in the end; may be NULL. A negative errno ends the walk. */
        int (*progress)(const WalkCounts *counts, void *userdata);
        void *userdata;
} TreeSpec;

/* Walks. Entries that vanish meanwhile are no errors; all other errors are counted and the first ones
 * named. Children come before their directory. If entries are changed, directories that others modified
 * meanwhile are looked at a second time, so that what appeared or moved is visited too; when all went well
 * the file system is synced, syncfs(2), then the root is visited, and synced. If anything failed the root
 * is left as it is, unless it failed in what appeared in the root while that was written, in writing it, or
 * in bringing that to disk. Must be called with CAP_DAC_READ_SEARCH. Returns 0, also if entries failed: see
 * *ret; or a negative errno: nothing is known of what was done, or progress() wanted an end. The caller puts
 * an issue that is an error into words. */
int tree_walk(const TreeSpec *spec, WalkResult *ret) _warn_unused_;

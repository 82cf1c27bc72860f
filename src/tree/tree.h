/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"

/* The tree engine visits every entry beneath a directory, with several threads, and counts and names the
 * entries that failed. The caller's visitor compares or changes the entries. The engine reaches directories
 * and entries through descriptors, never by a path from the root, so another process that renames an entry or
 * replaces it with a symbolic link can't lead the walk elsewhere. Memory does not grow with the tree. */

enum {
        TREE_THREADS_MAX = 64,
        TREE_PROGRESS_USEC = 250000,
};

/* A visitor reaches an entry by the descriptor if there is one, otherwise by the path. */
typedef struct TreeEntry {
        int fd;           /* the entry: an open directory, or opened with O_PATH; otherwise -EBADF */
        const char *path; /* relative to the thread's working directory, or in /proc/self/fd */
        bool follow;      /* the path is in /proc/self/fd, a link to the entry */
        bool again;       /* this is the second pass */
        bool describe;    /* the visitor is to describe differences */
} TreeEntry;

/* The result of a visit. */
typedef struct TreeVisit {
        bool changed;
        bool mismatched, misowned;
        char *text; /* the differences in one printable line, if describe was set */
} TreeVisit;

typedef struct Visitor Visitor;

struct Visitor {
        /* Compares or changes one entry, in several threads at once. scratch is the thread's own memory, zero
         * at first. Returns 0, also if the entry is gone, or a negative errno: -EISDIR if the entry has no
         * descriptor but is a directory. */
        int (*visit)(const Visitor *v, const TreeEntry *e, void *scratch, TreeVisit *ret);
        /* Compares or changes the root, after all entries beneath; changes of the entries are on disk by
         * then. */
        int (*finish)(const Visitor *v, int root, TreeVisit *ret);
        size_t scratch_size;
        bool changes;             /* the visitor changes entries, not only compares them */
        bool visits_dirs_by_path; /* the visitor also needs a path for directories */
};

typedef struct TreeSpec {
        /* the root, open for reading, on a mount without mounts inside */
        int fd;
        const Visitor *visitor; /* NULL: entries are only counted */
        /* the root is a directory of a larger file system: files with several hard links are not changed */
        bool part;
        unsigned threads;         /* 0: by the number of CPUs */
        uint64_t entries_per_sec; /* 0: no limit */
        /* if nothing is changed: the walk ends after so many entries; 0: all */
        uint64_t max_entries;
        /* Called in the calling thread, every TREE_PROGRESS_USEC if the walk made progress, and for a while
         * during the final sync; may be NULL. A negative errno ends the walk. */
        int (*progress)(const WalkCounts *counts, void *userdata);
        void *userdata;
} TreeSpec;

/* Walks over the tree, children before their directory. Entries that vanish meanwhile are no errors; all
 * other errors are counted and the first ones named. If the visitor changes entries, a second pass visits
 * directories that other programs modified meanwhile, and so the entries that appeared or moved. Without
 * errors the engine then calls syncfs(2), visits the root, and syncs the root. After an error the root is
 * left unchanged, unless an entry failed that appeared in the root during its change, or the change or sync
 * of the root failed. Needs CAP_DAC_READ_SEARCH. Returns 0, also if entries failed (see *ret); or a negative
 * errno, if the state of the entries is unknown or progress() ended the walk. The caller words the issues
 * that are errors. */
int tree_walk(const TreeSpec *spec, WalkResult *ret) _warn_unused_;

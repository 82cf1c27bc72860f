/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the tree engine (tree/tree.h) is asked for, and what it answers. */

enum {
        TREE_ISSUES_MAX = 16, /* that are named; all are counted */
        TREE_THREADS_MAX = 64,
        TREE_DIFFERENCES = 2, /* kinds of differences that a visitor can tell apart */
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

/* What a visit did and found. */
typedef struct TreeVisit {
        bool changed;
        bool differs[TREE_DIFFERENCES];
        char *text; /* what differs, one printable line, if it is to be described */
} TreeVisit;

typedef struct Visitor Visitor;

struct Visitor {
        /* Compares or changes one entry, in several threads at once. scratch is memory of the thread's own, zero at
         * first. Returns 0, also if the entry is gone, or a negative errno of it: -EISDIR if it is seen
         * to be a directory, and has no descriptor. */
        int (*visit)(const Visitor *v, const TreeEntry *e, void *scratch, TreeVisit *ret);
        /* The same of the root, when all beneath has been visited and, if it was changed, is on disk. */
        int (*finish)(const Visitor *v, int root, TreeVisit *ret);
        size_t scratch_size;
        bool changes;             /* entries, rather than comparing them only */
        bool visits_dirs_by_path; /* also needs a path for what has a descriptor */
};

typedef struct TreeCounts {
        uint64_t done;    /* entries visited, the root among them */
        uint64_t changed; /* of them, those that the visitor changed */
        uint64_t differ[TREE_DIFFERENCES];
        uint64_t failed;   /* errors, of whatever kind */
        uint64_t skipped;  /* hard links that may lead out of the volume, not changed; those that became links
                            * meanwhile count as one */
        uint64_t modified; /* in the end: directories that were still being modified at the second look, so that what
                            * was moved may have been missed */
} TreeCounts;

/* An entry that could not be visited, or that differs. */
typedef struct TreeIssue {
        char *path; /* beneath the root, "." for the root; not escaped; a very long one begins with an ellipsis */
        char *text; /* TreeVisit's */
        int error;  /* positive errno; 0 for what differs */
} TreeIssue;

typedef struct TreeSpec {
        int fd;                   /* the root, open for reading, on a mount in which nothing else is mounted */
        const Visitor *visitor;   /* NULL: entries are only counted */
        bool part;                /* the root is a directory of a larger file system: what has several hard links is
                                   * not changed */
        unsigned threads;         /* 0: chosen to suit the machine */
        uint64_t entries_per_sec; /* at most; 0: no limit */
        uint64_t max_entries;     /* if nothing is changed: it ends when so many were visited; 0: all */
        /* Called by the calling thread every TREE_PROGRESS_USEC in which the walk got on, and for a while during the
         * sync in the end; may be NULL. A negative errno ends the walk. */
        int (*progress)(const TreeCounts *counts, void *userdata);
        void *userdata;
} TreeSpec;

typedef struct TreeResult {
        TreeCounts counts;
        TreeIssue issues[TREE_ISSUES_MAX];
        size_t n_issues;
} TreeResult;

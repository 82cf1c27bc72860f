/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/failure.h"
#include "model/ownership.h"

/* The tree engine: visits every entry beneath a directory, to count, to compare or to set labels, groups and modes.
 * Directories are read and entries named by descriptors, never by a path, so that nothing that is renamed or
 * exchanged for a symbolic link meanwhile leads elsewhere; memory does not grow with the tree. */

enum {
        TREE_ISSUES_MAX = 16, /* that are named; all are counted */
        TREE_THREADS_MAX = 64,
        TREE_PROGRESS_USEC = 250000,
};

typedef enum TreeMode {
        TREE_COUNT,  /* only count the entries */
        TREE_VERIFY, /* compare, change nothing */
        TREE_CHANGE, /* set what differs */
} TreeMode;

typedef struct TreeCounts {
        uint64_t done;       /* entries visited, the root among them */
        uint64_t changed;    /* of them, those whose label, group or mode was written */
        uint64_t mismatched; /* TREE_VERIFY: labels that differ */
        uint64_t misowned;   /* TREE_VERIFY: entries whose group or mode differs */
        uint64_t failed;     /* errors, of whatever kind */
        uint64_t skipped;    /* TREE_CHANGE: hard links that may lead out of the volume, left alone; those
                              * that became links meanwhile count as one */
        /* TREE_CHANGE, in the end: directories that were still changing at the second look, so that what was moved may
         * have been missed. */
        uint64_t unsettled;
} TreeCounts;

/* An entry that could not be changed, or that differs. */
typedef struct TreeIssue {
        char *path;    /* beneath the root, "." for the root; not escaped; a very long one begins with an ellipsis */
        char *label;   /* TREE_VERIFY, a label that differs: what it is, "" if none; otherwise NULL */
        bool misowned; /* TREE_VERIFY, a group or mode that differs: what they are */
        gid_t gid;
        mode_t mode;
        int error; /* positive errno; 0 for what differs */
} TreeIssue;

typedef struct TreeSpec {
        TreeMode mode;
        int fd;                     /* the root, open for reading, on a mount in which nothing else is mounted */
        const char *context;        /* wanted, canonical; NULL: labels don't matter */
        const Ownership *ownership; /* wanted; NULL: groups and modes don't matter */
        bool blind; /* TREE_CHANGE: every label is known to be another, so write without a look, as on ext4 where the root's is */
        bool contended;   /* TREE_CHANGE: others may rename entries meanwhile */
        bool part;        /* the root is a directory of a larger file system: skip what has several hard links */
        unsigned threads; /* 0: chosen to suit the machine */
        uint64_t entries_per_sec; /* at most; 0: no limit */
        uint64_t max_entries;     /* TREE_VERIFY: it ends when so many were visited; 0: all */
        /* Called by the calling thread every TREE_PROGRESS_USEC in which the walk got on, and for a while while it
         * waits for the disk in the end; may be NULL. A negative errno ends the walk. */
        int (*progress)(const TreeCounts *counts, void *userdata);
        void *userdata;
} TreeSpec;

typedef struct TreeResult {
        TreeCounts counts;
        TreeIssue issues[TREE_ISSUES_MAX];
        size_t n_issues;
        char *root_label; /* found on the root, canonical; "" if none; NULL if labels don't matter */
} TreeResult;

void tree_result_done(TreeResult *r);

/* Walks. Entries that vanish meanwhile are no errors; all other errors are counted and the first ones named.
 * TREE_CHANGE: an entry gets all of its label, its group and its mode, in this order, that is not right already; what
 * is right is not written (its ctime stays). Modes only ever get bits more (ownership_mode()); setuid and setgid,
 * which the kernel takes away from a file whose group changes, are given back, file capabilities are not; of a
 * symbolic link the group alone is changed, and no link is followed. Directories that changed meanwhile are looked at a
 * second time, so that what appeared or moved ends up right too; children come before their directory; when all went
 * well the file system is synced, syncfs(2), then the root is written, and synced. If anything failed the root keeps
 * its label, group and mode, unless it failed in what appeared in the root while that was written, in writing it, or in
 * bringing that to disk.
 * Must be called with CAP_DAC_READ_SEARCH, and for TREE_CHANGE CAP_FOWNER; labels need CAP_SYS_ADMIN besides, groups
 * CAP_CHOWN, and CAP_FSETID, or else the kernel drops setgid where a mode is set, without a word. Returns 0, also if
 * entries failed: see *ret; a negative errno: nothing is known of what was done, or progress() wanted an end;
 * NOT_SUPPORTED, with nothing touched, if the file system keeps no labels though they matter, or is read-only. */
int tree_walk(const TreeSpec *spec, TreeResult *ret, Failure *f) _warn_unused_;

/* What to tell a user of an errno that an entry gave: what it means here and what to do, in half a sentence. */
const char *tree_error_text(int error);

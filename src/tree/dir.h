/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/walk.h"

enum { DIRS_MAX = 16384 }; /* known at a time; beyond that each directory gives one more */

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

/* A new directory, not open. NULL on lack of memory. */
Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode);
void dir_free(Walk *w, Dir *d);
/* Opens it. -ENOENT if it is no directory any more, -EUCLEAN if it never was one. */
int dir_open(Walk *w, Dir *d);

/* Whether a directory was modified since this pass began: something has come into it, or gone. */
bool dir_was_modified(const Walk *w, int fd);
/* The same of one of the walk, also if somebody has set its times. changed: the visitor has changed it. */
bool dir_is_modified(Walk *w, const Dir *d, bool changed);

/* Names an entry of it, if that is one of the first; text is taken over. name: NULL for itself; d: NULL for the root.
 * error: positive errno. */
void dir_add_issue(Walk *w, const Dir *d, const char *name, char *text, int error);

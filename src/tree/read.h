/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/chunk.h"
#include "tree/dir.h"

/* What reading a chunk of a directory finds besides the names of its entries. */
typedef struct Found {
        Work *first, *last; /* sub-directories, a chain; later all that there is to do */
        size_t n_subdirs;
        bool more; /* the directory has not been read to its end */
} Found;

/* Reads on in an open directory. Returns 0 or a negative errno. */
int read_chunk(Thread *t, Dir *d, Chunk *c, Found *f) _warn_unused_;
/* Puts sub-directories in the order of their inodes. */
void sort_subdirs(Found *f);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench-common.h"

/* What the helpers of the benchmarks share: every entry of a tree, by descriptor of its directory and name, in the
 * order of the inode numbers, and work on that by several threads. Deliberately another walk than the engine's: what
 * checks it must not share its errors. Errors end the program. */

typedef struct Entry {
        uint64_t inode;
        uint32_t directory; /* index into List.directories */
        uint32_t name;      /* offset into List.names */
} Entry;

typedef struct Directory {
        int fd; /* negative while it is not open */
        uint32_t parent, name;
} Directory;

typedef struct List {
        Entry *entries; /* the root, "." of itself, is the first: its inode number counts as 0 */
        size_t n_entries;
        Directory *directories;
        size_t n_directories;
        size_t n_open, open_max;
        char *names;
        size_t names_size;
} List;

/* Reads the tree beneath path, which must not have mount points inside. */
void list_read(List *l, const char *path);
void list_done(List *l);

static inline const char *list_name(const List *l, const Entry *e) {
        return l->names + e->name;
}

static inline int list_directory(const List *l, const Entry *e) {
        return l->directories[e->directory].fd;
}

/* Calls work() for every entry, on so many threads at once (0: one per CPU), which take shares in order. Directories
 * are open by then; if they are more than may be open, it goes in several steps. worker: the thread's number, below
 * WORKERS_MAX. Returns how long it took, in microseconds, with the start of the threads and without the opening. */
enum { WORKERS_MAX = 64 };
double list_run(List *l, unsigned threads, void (*work)(const List *l, const Entry *e, unsigned worker, void *data),
                void *data);

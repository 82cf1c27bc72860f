/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench-common.h"

/* A list of all entries of a tree in the order of their inode numbers, and threads that work on the list. It
 * does not use the engine's walk, because the benchmarks check the engine and must not repeat the engine's
 * mistakes. An error ends the program. */

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
        Entry *entries; /* the first is the root, with the name "." and the inode number 0 */
        size_t n_entries;
        Directory *directories;
        size_t n_directories;
        size_t n_open, open_max;
        char *names;
        size_t names_size;
} List;

/* Reads the tree beneath path, which must not contain mount points. */
void list_read(List *l, const char *path);
void list_done(List *l);

static inline const char *list_name(const List *l, const Entry *e) {
        return l->names + e->name;
}

static inline int list_directory(const List *l, const Entry *e) {
        return l->directories[e->directory].fd;
}

/* Calls work() for every entry. threads: how many run at once (0: one for each CPU); each takes the next
 * entries of the list. worker: the thread's number, below WORKERS_MAX. The directories are open before; if
 * the process can't open all at once, list_run() works in several steps. Returns microseconds, which include
 * the start of the threads and not the opening of the directories. */
enum { WORKERS_MAX = 64 };
double list_run(List *l, unsigned threads, void (*work)(const List *l, const Entry *e, unsigned worker, void *data),
                void *data);

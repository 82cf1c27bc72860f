/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        CHUNK_BYTES_MIN = 32 * 1024, /* of names, read at once; twice as many are always granted */
        CHUNK_BYTES_STEP = 256 * 1024,
        CHUNK_BYTES_MAX = 4 << 20,                /* of one chunk */
        CHUNKS_BYTES_MAX = 8 << 20,               /* of all, beyond what is always granted */
        CHUNK_ENTRIES_MAX = CHUNK_BYTES_MAX / 24, /* a name takes at least so many bytes of getdents64(2)'s */
};

typedef struct ChunkEntry {
        uint64_t inode;
        uint32_t offset; /* of its name in the chunk's data */
} ChunkEntry;

/* Names read from one directory. Its memory is mapped once, at its largest size; only what has been written to
 * counts. */
typedef struct Chunk {
        atomic_uint batches; /* that have not been done; whoever does the last frees it */
        struct Dir *dir;
        size_t used;    /* of data */
        size_t granted; /* likewise, of the budget */
        size_t n_entries;
        ChunkEntry entries[CHUNK_ENTRIES_MAX];
        char data[CHUNK_BYTES_MAX];
} Chunk;

/* NULL on lack of memory. */
Chunk *chunk_new(void);
/* budget: what is granted to all chunks together. */
Chunk *chunk_free(Chunk *c, _Atomic uint64_t *budget);
/* Whether there is room for one more buffer of names. */
bool chunk_grow(Chunk *c, _Atomic uint64_t *budget);

/* Compares what has the number of an inode as the first member, for qsort(3). */
int compare_inodes(const void *a, const void *b);
/* File systems keep inodes in the order of their numbers, so the disk reads ahead what is visited next; names may come
 * in the order of their hashes. */
void chunk_sort(Chunk *c);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <sys/mman.h>

#include "tree/chunk.h"

Chunk *chunk_new(void) {
        void *p =
                mmap(NULL, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

Chunk *chunk_free(Chunk *c, _Atomic uint64_t *budget) {
        if (c) {
                atomic_fetch_sub(budget, c->granted);
                (void) munmap(c, sizeof(*c));
        }
        return NULL;
}

bool chunk_grow(Chunk *c, _Atomic uint64_t *budget) {
        if (c->used + CHUNK_BYTES_MIN > sizeof(c->data))
                return false;
        if (c->used <= CHUNK_BYTES_MIN + c->granted)
                return true;
        if (atomic_fetch_add(budget, CHUNK_BYTES_STEP) >= CHUNKS_BYTES_MAX) {
                atomic_fetch_sub(budget, CHUNK_BYTES_STEP);
                return false;
        }
        c->granted += CHUNK_BYTES_STEP;
        return true;
}

int compare_inodes(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

void chunk_sort(Chunk *c) {
        qsort(c->entries, c->n_entries, sizeof(ChunkEntry), compare_inodes);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "tree/engine.h"

/* A thread reads a directory in chunks, and reads the next chunk only when threads have taken the work of the
 * last one from the stack: memory does not grow with the tree. The thread that has read a small chunk visits
 * its entries; a large chunk is split into batches for all threads. */

enum {
        CHUNK_BYTES_MIN = 32 * 1024, /* of names, read at once; a chunk always gets twice this */
        CHUNK_BYTES_STEP = 256 * 1024,
        CHUNK_BYTES_MAX = 4 << 20,  /* of one chunk */
        CHUNKS_BYTES_MAX = 8 << 20, /* of all chunks, beyond the space that each always gets */
        /* getdents64(2) needs at least 24 bytes for a name */
        CHUNK_ENTRIES_MAX = CHUNK_BYTES_MAX / 24,
        DIRS_MAX = 16384, /* in memory; beyond that each directory adds one sub-directory at a time */
        SUBDIRS_PER_CHUNK = 1024,
        FEW_BYTES = 1280, /* of names: a few, or one of any length (1024 bytes at most, in FUSE) */
        BATCH_ENTRIES = 1024,
        FEW_ENTRIES = 64, /* visiting these is faster than waking another thread */
};

typedef struct ChunkEntry {
        uint64_t inode;
        uint32_t offset; /* of the name in the chunk's data */
} ChunkEntry;

/* Names read from one directory. The memory is mapped once, at the largest size; the kernel allocates only
 * pages that were written. */
typedef struct Chunk {
        atomic_uint batches; /* not done yet; the thread that does the last one frees the chunk */
        struct Dir *dir;
        size_t used;    /* bytes of data */
        size_t granted; /* bytes of CHUNKS_BYTES_MAX */
        size_t n_entries;
        ChunkEntry entries[CHUNK_ENTRIES_MAX];
        char data[CHUNK_BYTES_MAX];
} Chunk;

/* A part of a large chunk's entries. */
typedef struct Batch {
        Work work;
        Chunk *chunk;
        size_t start, end;
} Batch;

/* The result of reading a chunk, besides the names of its entries. */
typedef struct Found {
        Work *first, *last; /* a chain of sub-directories; later of all new work */
        size_t n_subdirs;
        bool more; /* the directory has not been read to its end */
} Found;

static Chunk *chunk_new(void) {
        void *p =
                mmap(NULL, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

static void chunk_free(Walk *w, Chunk *c) {
        atomic_fetch_sub(&w->chunk_bytes, c->granted);
        (void) munmap(c, sizeof(*c));
}

/* Whether the chunk has room for one more buffer of names; takes it from the budget if needed. */
static bool chunk_grow(Walk *w, Chunk *c) {
        if (c->used + CHUNK_BYTES_MIN > sizeof(c->data))
                return false;
        if (c->used <= CHUNK_BYTES_MIN + c->granted)
                return true;
        if (atomic_fetch_add(&w->chunk_bytes, CHUNK_BYTES_STEP) >= CHUNKS_BYTES_MAX) {
                atomic_fetch_sub(&w->chunk_bytes, CHUNK_BYTES_STEP);
                return false;
        }
        c->granted += CHUNK_BYTES_STEP;
        return true;
}

static void push_front(Found *f, Work *work) {
        work->next = f->first;
        f->first = work;
        if (!f->last)
                f->last = work;
}

static bool is_directory(const Dir *d, const struct dirent64 *e) {
        struct stat st;

        if (e->d_type != DT_UNKNOWN)
                return e->d_type == DT_DIR;
        return fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISDIR(st.st_mode);
}

static bool is_dot(const char *name) {
        return name[0] == '.' && (name[1] == '\0' || streq(name, ".."));
}

/* Sorts a buffer of names into sub-directories and other entries. only_one: stops after the first
 * sub-directory; the thread reads the rest again later. Returns 0 or a negative errno. */
static int take_names(Thread *t, Dir *d, Chunk *c, size_t end, bool only_one, Found *f) {
        while (c->used < end) {
                const struct dirent64 *e = (const struct dirent64 *) (c->data + c->used);
                size_t at = c->used;

                c->used += e->d_reclen;
                if (streq(e->d_name, "..") && dir_is_of_another(t->walk, d, e->d_ino))
                        return -EUCLEAN;
                if (is_dot(e->d_name))
                        continue;
                if (is_directory(d, e)) {
                        Dir *sub = dir_new(t->walk, d, e->d_name, e->d_ino);

                        if (!sub)
                                return -ENOMEM;
                        push_front(f, &sub->work);
                        f->n_subdirs++;
                        if (only_one)
                                return lseek(d->fd, e->d_off, SEEK_SET) < 0 ? -errno : 0;
                } else if (!d->settled)
                        c->entries[c->n_entries++] = (ChunkEntry){
                                .inode = e->d_ino,
                                .offset = (uint32_t) (at + offsetof(struct dirent64, d_name)),
                        };
        }
        return 0;
}

/* Reads the next chunk of an open directory. Returns 0 or a negative errno. */
static int read_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        bool bounded = t->walk->spec->max_entries > 0;

        for (;;) {
                bool many = atomic_load(&t->walk->n_dirs) > DIRS_MAX;
                ssize_t n;
                int r;

                if ((bounded && c->used > 0) || !chunk_grow(t->walk, c)) {
                        f->more = true;
                        return 0;
                }
                n = getdents64(d->fd, c->data + c->used, many ? FEW_BYTES : CHUNK_BYTES_MIN);
                if (n < 0 && errno == ENOENT)
                        return 0; /* removed meanwhile */
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                r = take_names(t, d, c, c->used + (size_t) n, many, f);
                if (r < 0 || queue_is_stopped(&t->walk->queue))
                        return r;
                if (f->n_subdirs >= SUBDIRS_PER_CHUNK || (many && f->n_subdirs > 0)) {
                        f->more = true;
                        return 0;
                }
        }
}

/* Compares structs whose first member is the inode number. */
static int compare_inodes(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

typedef struct SortedDir {
        uint64_t inode;
        Dir *dir;
} SortedDir;

/* Sorts sub-directories by inode, for speed. Without memory their order stays. */
static void sort_subdirs(Found *f) {
        _cleanup_free_ SortedDir *sorted = NULL;
        size_t n = 0;

        if (f->n_subdirs == 0)
                return;
        sorted = malloc(f->n_subdirs * sizeof(*sorted));
        if (!sorted)
                return;
        for (Work *work = f->first; work; work = work->next, n++)
                sorted[n] = (SortedDir){ ((Dir *) work)->inode, (Dir *) work };
        qsort(sorted, n, sizeof(*sorted), compare_inodes);
        for (size_t i = 0; i < n; i++)
                sorted[i].dir->work.next = i + 1 < n ? &sorted[i + 1].dir->work : NULL;
        f->first = &sorted[0].dir->work;
        f->last = &sorted[n - 1].dir->work;
}

static void finish_dir(Thread *t, const Dir *d) {
        Walk *w = t->walk;
        bool modified = walk_changes(w) && dir_is_modified(w, d, false);

        /* The engine visits the root last, after the sync. */
        if (d->parent) {
                visit_entry(t, d, NULL);
                modified = modified || (walk_changes(w) && dir_is_modified(w, d, true));
        }
        if (modified)
                atomic_fetch_add(&w->modified, 1);
}

/* Drops one from the count of pending work. The last one finishes the directory, and then perhaps directories
 * above it. */
static void release_dir(Thread *t, Dir *d) {
        Walk *w = t->walk;

        while (d && atomic_fetch_sub(&d->pending, 1) == 1) {
                Dir *parent = d->parent;

                if (d->fd >= 0 && !queue_is_stopped(&w->queue))
                        finish_dir(t, d);
                dir_free(w, d);
                d = parent;
        }
}

static void visit_entries(Thread *t, const Chunk *c, size_t start, size_t end) {
        for (size_t i = start; i < end && !queue_is_stopped(&t->walk->queue); i++)
                visit_entry(t, c->dir, c->data + c->entries[i].offset);
}

/* Splits a large chunk into batches for all threads. */
static int share_chunk(Chunk *c, Found *f) {
        size_t n = (c->n_entries + BATCH_ENTRIES - 1) / BATCH_ENTRIES;

        for (size_t i = n; i-- > 0;) {
                Batch *b = malloc(sizeof(*b));

                if (!b)
                        return -ENOMEM;
                *b = (Batch){
                        .work = { .kind = WORK_BATCH },
                        .chunk = c,
                        .start = i * BATCH_ENTRIES,
                        .end = i + 1 == n ? c->n_entries : (i + 1) * BATCH_ENTRIES,
                };
                atomic_fetch_add(&c->batches, 1);
                atomic_fetch_add(&c->dir->pending, 1);
                push_front(f, &b->work);
        }
        return 0;
}

static void release_batch(Thread *t, Batch *b) {
        Chunk *c = b->chunk;
        Dir *d = c->dir;

        if (atomic_fetch_sub(&c->batches, 1) == 1)
                chunk_free(t->walk, c);
        free(b);
        release_dir(t, d);
}

static Work *process_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        const bool few = c->n_entries <= FEW_ENTRIES, shared = c->n_entries > (size_t) 2 * BATCH_ENTRIES;
        Walk *w = t->walk;
        Work *kept = NULL;

        /* File systems store inodes in the order of their numbers, so the disk reads ahead the inodes that
         * are visited next; names may come in the order of their hashes. */
        qsort(c->entries, c->n_entries, sizeof(ChunkEntry), compare_inodes);
        sort_subdirs(f);
        /* The rest of the directory goes below its sub-directories and batches on the stack. */
        if (f->more) {
                atomic_fetch_add(&d->pending, 1); /* the reading, which goes on */
                d->work.next = NULL;
                if (f->last)
                        f->last->next = &d->work;
                else
                        f->first = &d->work;
                f->last = &d->work;
        }
        if (shared && share_chunk(c, f) < 0) {
                queue_stop(&w->queue, -ENOMEM);
                if (atomic_load(&c->batches) == 0)
                        chunk_free(w, c);
        }
        /* With few entries this thread keeps the first work, so no other thread has to be woken. */
        if (few && f->first) {
                kept = f->first;
                f->first = kept->next;
        }
        if (f->first)
                queue_push(&w->queue, f->first, f->last);

        if (!shared) {
                visit_entries(t, c, 0, c->n_entries);
                if (c->granted == 0 && !t->spare)
                        t->spare = c;
                else
                        chunk_free(w, c);
        }
        release_dir(t, d);
        return kept;
}

/* Opens the directory if needed and reads a chunk. Returns the next work of this thread, or NULL. */
static Work *step_dir(Thread *t, Dir *d) {
        Walk *w = t->walk;
        Found f = { 0 };
        Chunk *c;
        int r;

        count_one(&t->steps);
        r = d->fd >= 0 ? 0 : dir_open(w, d);
        if (r < 0) {
                /* The directory may have been moved. */
                if (r == -ENOENT)
                        atomic_fetch_add(&w->modified, 1);
                else
                        dir_add_issue(w, d, NULL, NULL, -r);
                release_dir(t, d);
                return NULL;
        }

        c = t->spare ? TAKE_PTR(t->spare) : chunk_new();
        if (!c) {
                queue_stop(&w->queue, -ENOMEM);
                release_dir(t, d);
                return NULL;
        }
        c->dir = d;
        c->used = c->n_entries = 0;
        r = read_chunk(t, d, c, &f);
        if (r == -ENOMEM)
                queue_stop(&w->queue, r);
        else if (r < 0)
                dir_add_issue(w, d, NULL, NULL, -r);
        return process_chunk(t, d, c, &f);
}

void work_discard(Thread *t, Work *work) {
        if (work->kind == WORK_BATCH)
                release_batch(t, (Batch *) work);
        else
                release_dir(t, (Dir *) work);
}

void work_run(Thread *t) {
        Queue *q = &t->walk->queue;
        Work *work = NULL;
        bool had_work = false;

        while ((work = work ?: queue_take(q, had_work))) {
                had_work = true;
                if (work->kind == WORK_DIR)
                        work = step_dir(t, (Dir *) work);
                else {
                        Batch *b = (Batch *) work;

                        visit_entries(t, b->chunk, b->start, b->end);
                        release_batch(t, b);
                        work = NULL;
                }
                if (work && queue_is_stopped(q)) {
                        work_discard(t, work);
                        work = NULL;
                }
        }
        if (t->spare)
                chunk_free(t->walk, TAKE_PTR(t->spare));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "basic/open-util.h"
#include "basic/time-util.h"
#include "label/tree-internal.h"

Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode) {
        size_t n = strlen(name) + 1;
        Dir *d = calloc(1, sizeof(*d) + n);

        if (!d)
                return NULL;
        d->work.kind = WORK_DIR;
        d->inode = inode;
        d->parent = parent;
        d->fd = -EBADF;
        d->pending = 1; /* being read */
        memcpy(d->name, name, n);
        if (parent)
                atomic_fetch_add(&parent->pending, 1);
        atomic_fetch_add(&w->n_dirs, 1);
        return d;
}

static void dir_free(Walk *w, Dir *d) {
        fd_close(d->fd);
        free(d);
        atomic_fetch_sub(&w->n_dirs, 1);
}

/* Whether a time stamp tells of a change since then. What changes gets the present time, so one in the future was set
 * by somebody, or when the clock was ahead. */
static bool is_since(const struct timespec *stamp, uint64_t since_nsec) {
        uint64_t nsec = timespec_nsec(stamp);

        return nsec >= since_nsec && nsec <= clock_nsec(CLOCK_REALTIME);
}

bool dir_has_changed(const Walk *w, int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || is_since(&st.st_mtim, w->pass_since_nsec);
}

/* What was created in it, or renamed into or out of it, since this pass began may not have been seen, wherever it is
 * now. Before we write its label, a directory's ctime tells what nobody can take back; afterwards its mtime has to
 * do. The root's record may have been written just before the walk, so its ctime has to be the same one. */
static bool is_unsettled(Walk *w, const Dir *d, bool written) {
        struct stat st;
        bool touched;

        if (fstat(d->fd, &st) < 0 || is_since(&st.st_mtim, w->pass_since_nsec))
                return true;
        touched = d->parent ? is_since(&st.st_ctim, w->pass_since_nsec)
                            : timespec_nsec(&st.st_ctim) != w->root_ctime_nsec;
        if (written || !touched)
                return false;
        atomic_store(&w->times_set, true);
        return true;
}

static void dir_finish(Thread *t, const Dir *d) {
        Walk *w = t->walk;
        bool change = w->spec->mode == TREE_CHANGE, unsettled = change && is_unsettled(w, d, false);

        /* The root's label is not ours to write. */
        if (d->parent) {
                entry_visit(t, d, NULL);
                unsettled = unsettled || (change && is_unsettled(w, d, true));
        }
        if (unsettled)
                atomic_fetch_add(&w->unsettled, 1);
}

/* Lets one of its pending ones go. With the last one the directory is finished, after all that is beneath it, and so,
 * perhaps, are those above it. */
static void dir_release(Thread *t, Dir *d) {
        Walk *w = t->walk;

        while (d && atomic_fetch_sub(&d->pending, 1) == 1) {
                Dir *parent = d->parent;

                if (d->fd >= 0 && !walk_is_stopped(w))
                        dir_finish(t, d);
                dir_free(w, d);
                d = parent;
        }
}

/* What is no directory any more was removed, renamed or replaced meanwhile. */
static bool has_vanished(int error) {
        return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ESTALE;
}

static int dir_open(Walk *w, Dir *d) {
        int parent = d->parent ? d->parent->fd : w->spec->fd, fd;
        const char *name = d->parent ? d->name : ".";
        struct stat st;

        fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        /* What is moved away in the middle of it looks as if something were mounted there (complete_walk()). */
        if (fd == -EXDEV)
                fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        if (fd < 0)
                return fd;
        d->fd = fd;
        d->serial = atomic_fetch_add(&w->next_serial, 1) + 1;
        if (w->pass > 1) {
                if (fstat(fd, &st) < 0)
                        return -errno;
                /* A directory that was moved has its old times, but those above it have not. */
                d->settled = !atomic_load(&w->times_set) && (!d->parent || d->parent->settled) &&
                             !is_since(&st.st_mtim, w->since_nsec);
        }
        return 0;
}

Chunk *chunk_free(Walk *w, Chunk *c) {
        if (c) {
                atomic_fetch_sub(&w->chunk_bytes, c->granted);
                (void) munmap(c, sizeof(*c));
        }
        return NULL;
}

static Chunk *chunk_new(void) {
        void *p =
                mmap(NULL, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

/* Whether there is room for one more buffer of names. */
static bool chunk_grow(Walk *w, Chunk *c) {
        if (c->used + CHUNK_BYTES_MIN > sizeof(c->data) || (w->spec->max_entries > 0 && c->used > 0))
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

static bool is_directory(const Dir *d, const struct dirent64 *e) {
        struct stat st;

        if (e->d_type != DT_UNKNOWN)
                return e->d_type == DT_DIR;
        return fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISDIR(st.st_mode);
}

/* What reading a chunk finds. */
typedef struct Found {
        Work *first, *last; /* sub-directories, a chain */
        size_t n_subdirs;
        bool more; /* the directory has not been read to its end */
} Found;

static int add_subdir(Thread *t, Dir *d, const struct dirent64 *e, Found *f) {
        Dir *sub = dir_new(t->walk, d, e->d_name, e->d_ino);

        if (!sub)
                return -ENOMEM;
        sub->work.next = f->first;
        f->first = &sub->work;
        if (!f->last)
                f->last = &sub->work;
        f->n_subdirs++;
        return 0;
}

static bool is_dot(const char *name) {
        return name[0] == '.' && (name[1] == '\0' || streq(name, ".."));
}

/* Sorts a buffer of names into sub-directories and others; behind the first sub-directory it stops, if there is to be
 * only one, and the rest will be read again. Returns 0 or a negative errno. */
static int take_names(Thread *t, Dir *d, Chunk *c, size_t end, bool only_one, Found *f) {
        while (c->used < end) {
                const struct dirent64 *e = (const struct dirent64 *) (c->data + c->used);
                size_t at = c->used;

                c->used += e->d_reclen;
                if (is_dot(e->d_name))
                        continue;
                if (is_directory(d, e)) {
                        int r = add_subdir(t, d, e, f);

                        if (r < 0)
                                return r;
                        if (only_one)
                                return lseek(d->fd, e->d_off, SEEK_SET) < 0 ? -errno : 0;
                } else if (!d->settled)
                        c->entries[c->n_entries++] = (Entry){
                                .inode = e->d_ino,
                                .offset = (uint32_t) (at + offsetof(struct dirent64, d_name)),
                        };
        }
        return 0;
}

static int read_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        for (;;) {
                bool many = atomic_load(&t->walk->n_dirs) > DIRS_MAX;
                ssize_t n;
                int r;

                if (!chunk_grow(t->walk, c)) {
                        f->more = true;
                        return 0;
                }
                n = getdents64(d->fd, c->data + c->used, many ? FEW_BYTES : CHUNK_BYTES_MIN);
                if (n < 0 && errno == ENOENT)
                        return 0; /* removed meanwhile */
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                r = take_names(t, d, c, c->used + (size_t) n, many, f);
                if (r < 0 || walk_is_stopped(t->walk))
                        return r;
                if (f->n_subdirs >= SUBDIRS_PER_CHUNK || (many && f->n_subdirs > 0)) {
                        f->more = true;
                        return 0;
                }
        }
}

typedef struct SortedDir {
        uint64_t inode;
        Dir *dir;
} SortedDir;

/* Of what has the number of its inode as the first member. */
static int compare_inodes(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

/* Without memory for it they stay as they are: it is for speed only. */
static void sort_subdirs(Found *f) {
        _cleanup_free_ SortedDir *sorted = NULL;
        size_t n = 0;

        if (f->n_subdirs > 0)
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

static void visit_entries(Thread *t, const Chunk *c, size_t start, size_t end) {
        for (size_t i = start; i < end && !walk_is_stopped(t->walk); i++)
                entry_visit(t, c->dir, c->data + c->entries[i].offset);
}

static void visit_chunk(Thread *t, Chunk *c) {
        visit_entries(t, c, 0, c->n_entries);
        if (c->granted == 0 && !t->spare)
                t->spare = c;
        else
                chunk_free(t->walk, c);
}

static void push_front(Found *f, Work *work) {
        work->next = f->first;
        f->first = work;
        if (!f->last)
                f->last = work;
}

/* Hands a large chunk out to all threads. */
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

static void batch_release(Thread *t, Batch *b) {
        Chunk *c = b->chunk;
        Dir *d = c->dir;

        if (atomic_fetch_sub(&c->batches, 1) == 1)
                chunk_free(t->walk, c);
        free(b);
        dir_release(t, d);
}

Work *batch_step(Thread *t, Batch *b) {
        visit_entries(t, b->chunk, b->start, b->end);
        batch_release(t, b);
        return NULL;
}

/* Sub-directories and batches are there for every thread, the rest of the directory below them on the stack. One of
 * them stays in hand where little is to be done before it: then nobody has to be woken. */
static Work *hand_out(Thread *t, Found *f, bool keep_one) {
        Work *kept = NULL;

        if (keep_one && f->first) {
                kept = f->first;
                f->first = kept->next;
                if (!f->first)
                        f->last = NULL;
        }
        if (f->first)
                queue_push(t->walk, f->first, f->last);
        return kept;
}

static void append(Found *f, Work *work) {
        work->next = NULL;
        if (f->last)
                f->last->next = work;
        else
                f->first = work;
        f->last = work;
}

static Work *process_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        Walk *w = t->walk;
        Work *next;

        /* File systems keep inodes in the order of their numbers, so the disk reads ahead what is visited next; names
         * may come in the order of their hashes. */
        qsort(c->entries, c->n_entries, sizeof(Entry), compare_inodes);
        sort_subdirs(f);
        if (f->more) {
                atomic_fetch_add(&d->pending, 1); /* what is pending until now is the reading, which goes on */
                append(f, &d->work);
        }

        if (c->n_entries <= (size_t) 2 * BATCH_ENTRIES) {
                next = hand_out(t, f, c->n_entries <= 64);
                visit_chunk(t, c);
        } else {
                if (share_chunk(c, f) < 0) {
                        walk_stop(w, -ENOMEM);
                        if (atomic_load(&c->batches) == 0)
                                chunk_free(w, c);
                }
                next = hand_out(t, f, false);
        }
        dir_release(t, d);
        return next;
}

Work *dir_step(Thread *t, Dir *d) {
        Walk *w = t->walk;
        Found f = { 0 };
        Chunk *c;
        int r = 0;

        count(&t->steps);
        if (d->fd < 0)
                r = dir_open(w, d);
        if (r < 0) {
                if (has_vanished(r))
                        atomic_fetch_add(&w->unsettled, 1);
                else
                        issue_add_error(w, d, NULL, -r);
                dir_release(t, d);
                return NULL;
        }

        c = t->spare ? TAKE_PTR(t->spare) : chunk_new();
        if (!c) {
                walk_stop(w, -ENOMEM);
                dir_release(t, d);
                return NULL;
        }
        c->dir = d;
        c->used = c->n_entries = 0;
        r = read_chunk(t, d, c, &f);
        if (r == -ENOMEM)
                walk_stop(w, r);
        else if (r < 0)
                issue_add_error(w, d, NULL, -r);
        return process_chunk(t, d, c, &f);
}

void work_discard(Thread *t, Work *work) {
        if (work->kind == WORK_BATCH)
                batch_release(t, (Batch *) work);
        else
                dir_release(t, (Dir *) work);
}

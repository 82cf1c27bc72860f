/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "tree/read.h"

enum {
        SUBDIRS_PER_CHUNK = 1024,
        FEW_BYTES = 1280, /* of names: a few, and any one; in user space they may have 1024 bytes */
};

static bool is_directory(const Dir *d, const struct dirent64 *e) {
        struct stat st;

        if (e->d_type != DT_UNKNOWN)
                return e->d_type == DT_DIR;
        return fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISDIR(st.st_mode);
}

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
                        c->entries[c->n_entries++] = (ChunkEntry){
                                .inode = e->d_ino,
                                .offset = (uint32_t) (at + offsetof(struct dirent64, d_name)),
                        };
        }
        return 0;
}

int read_chunk(Thread *t, Dir *d, Chunk *c, Found *f) {
        bool bounded = t->walk->spec->max_entries > 0;

        for (;;) {
                bool many = atomic_load(&t->walk->n_dirs) > DIRS_MAX;
                ssize_t n;
                int r;

                if ((bounded && c->used > 0) || !chunk_grow(c, &t->walk->chunk_bytes)) {
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

typedef struct SortedDir {
        uint64_t inode;
        Dir *dir;
} SortedDir;

/* Without memory for it they stay as they are: it is for speed only. */
void sort_subdirs(Found *f) {
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "basic/string-util.h"

enum { SHARE = 512 }; /* a thread takes so many entries at a time */

/* ---- reading ----------------------------------------------------------------------------------------- */

/* Makes room for one more element; doubles the array when n is a power of two. */
static void *grow(void *array, size_t n, size_t size) {
        if ((n & (n - 1)) != 0)
                return array;
        array = reallocarray(array, n == 0 ? 1 : n * 2, size);
        if (!array)
                fail("out of memory");
        return array;
}

static uint32_t add_name(List *l, size_t *room, const char *name) {
        size_t offset = l->names_size, n = strlen(name) + 1;

        if (offset + n > *room) {
                *room = (*room + n) * 2;
                l->names = realloc(l->names, *room);
                if (!l->names)
                        fail("out of memory");
        }
        memcpy(l->names + offset, name, n);
        l->names_size += n;
        return (uint32_t) offset;
}

static void add_entry(List *l, uint64_t inode, size_t directory, uint32_t name) {
        l->entries = grow(l->entries, l->n_entries, sizeof(Entry));
        l->entries[l->n_entries++] = (Entry){ .inode = inode, .directory = (uint32_t) directory, .name = name };
}

static void add_directory(List *l, size_t parent, uint32_t name) {
        l->directories = grow(l->directories, l->n_directories, sizeof(Directory));
        l->directories[l->n_directories++] = (Directory){ .fd = -EBADF, .parent = (uint32_t) parent, .name = name };
}

/* Opens the directories above it too, and leaves them open. The root is open from the beginning. */
static int open_directory(List *l, size_t i) {
        Directory *d = l->directories + i;

        if (d->fd >= 0)
                return d->fd;
        d->fd = openat(open_directory(l, d->parent), l->names + d->name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (d->fd < 0)
                fail("%s can't be opened: %s", l->names + d->name, strerror(errno));
        l->n_open++;
        return d->fd;
}

static void close_directories(List *l) {
        for (size_t i = 1; i < l->n_directories; i++)
                l->directories[i].fd = fd_close(l->directories[i].fd);
        l->n_open = 0;
}

static void read_directory(List *l, size_t i, size_t *room) {
        int fd;
        DIR *d;

        if (l->n_open >= l->open_max)
                close_directories(l);
        fd = fcntl(open_directory(l, i), F_DUPFD_CLOEXEC, 0);
        d = fd < 0 ? NULL : fdopendir(fd);
        if (!d)
                fail("a directory can't be read: %s", strerror(errno));
        errno = 0;
        for (const struct dirent *de; (de = readdir(d));) {
                if (streq(de->d_name, ".") || streq(de->d_name, ".."))
                        continue;
                if (de->d_type == DT_UNKNOWN)
                        fail("the file system does not tell the types of entries");
                add_entry(l, de->d_ino, i, add_name(l, room, de->d_name));
                if (de->d_type == DT_DIR)
                        add_directory(l, i, l->entries[l->n_entries - 1].name);
        }
        if (errno != 0)
                fail("reading a directory: %s", strerror(errno));
        (void) closedir(d);
}

static int compare_inodes(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Raises the limit and returns half of it; the other half is for the parents that open_directory() opens. */
static size_t allow_descriptors(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                fail("getrlimit: %s", strerror(errno));
        if (limit.rlim_max < 65536) {
                struct rlimit more = { 65536, 65536 };

                if (setrlimit(RLIMIT_NOFILE, &more) == 0)
                        return more.rlim_max / 2;
        }
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                fail("setrlimit: %s", strerror(errno));
        return limit.rlim_max / 2;
}

void list_read(List *l, const char *path) {
        size_t room = 0;

        *l = (List){ .open_max = allow_descriptors() };
        add_entry(l, 0, 0, add_name(l, &room, "."));
        add_directory(l, 0, 0);
        l->directories[0].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (l->directories[0].fd < 0)
                fail("%s can't be opened: %s", path, strerror(errno));
        for (size_t i = 0; i < l->n_directories; i++)
                read_directory(l, i, &room);
        close_directories(l);
        qsort(l->entries, l->n_entries, sizeof(Entry), compare_inodes);
}

void list_done(List *l) {
        close_directories(l);
        (void) close(l->directories[0].fd);
        free(l->directories);
        free(l->entries);
        free(l->names);
        *l = (List){};
}

/* ---- working ----------------------------------------------------------------------------------------- */

typedef struct Run {
        const List *list;
        void (*work)(const List *l, const Entry *e, unsigned worker, void *data);
        void *data;
        atomic_size_t next;
        size_t end;
} Run;

typedef struct Worker {
        Run *run;
        unsigned number;
        pthread_t thread;
} Worker;

static void *run_worker(void *p) {
        Worker *w = p;
        const List *l = w->run->list;

        for (;;) {
                size_t begin = atomic_fetch_add(&w->run->next, SHARE), end = begin + SHARE;

                if (begin >= w->run->end)
                        return NULL;
                for (size_t i = begin; i < end && i < w->run->end; i++)
                        w->run->work(l, l->entries + i, w->number, w->run->data);
        }
}

static double run_step(Run *run, unsigned threads) {
        Worker workers[WORKERS_MAX];
        double start = now_usec();

        for (unsigned i = 0; i < threads; i++) {
                workers[i] = (Worker){ .run = run, .number = i };
                if (pthread_create(&workers[i].thread, NULL, run_worker, workers + i) != 0)
                        fail("a thread can't be started");
        }
        for (unsigned i = 0; i < threads; i++)
                (void) pthread_join(workers[i].thread, NULL);
        return now_usec() - start;
}

double list_run(List *l, unsigned threads, void (*work)(const List *l, const Entry *e, unsigned worker, void *data),
                void *data) {
        Run run = { .list = l, .work = work, .data = data };
        double usec = 0;

        if (threads == 0)
                threads = (unsigned) sysconf(_SC_NPROCESSORS_ONLN);
        if (threads > WORKERS_MAX)
                threads = WORKERS_MAX;
        while (run.end < l->n_entries) {
                run.next = run.end;
                for (; run.end < l->n_entries && l->n_open < l->open_max; run.end++)
                        (void) open_directory(l, l->entries[run.end].directory);
                usec += run_step(&run, threads);
                close_directories(l);
        }
        return usec;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/limits.h"
#include "worker/children.h"

/* The last byte of each text stays 0. */
typedef struct Entry {
        _Atomic pid_t pid;  /* 0: free */
        _Atomic bool ready; /* the rest is filled in */
        pid_t peer;
        char operation[16];
        char volume[VOLUME_ID_MAX + 1];
        char target[PATH_MAX];
} Entry;

struct Children {
        size_t n;
        Entry entries[];
};

int children_new(size_t n, Children **ret) {
        Children *c = mmap(NULL, sizeof(Children) + n * sizeof(Entry), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (c == MAP_FAILED)
                return -errno;
        c->n = n;
        *ret = c;
        return 0;
}

static Entry *take_entry(Children *c) {
        for (size_t i = 0; i < c->n; i++) {
                pid_t nobody = 0;

                if (atomic_compare_exchange_strong(&c->entries[i].pid, &nobody, getpid()))
                        return &c->entries[i];
        }
        return NULL;
}

static void copy(char *to, size_t size, const char *from) {
        strncpy(to, strempty(from), size - 1);
}

void children_enter(Children *c, pid_t peer, const char *operation, const char *volume, const char *target) {
        Entry *e = take_entry(c);

        if (!e)
                return;
        e->peer = peer;
        copy(e->operation, sizeof(e->operation), operation);
        copy(e->volume, sizeof(e->volume), volume);
        copy(e->target, sizeof(e->target), target);
        e->ready = true;
}

void children_leave(Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid) {
                        c->entries[i].ready = false;
                        c->entries[i].pid = 0;
                }
}

bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanNote *ret) {
        for (; *index < c->n; ++*index) {
                const Entry *e = &c->entries[*index];

                if (!e->ready || e->peer == peer)
                        continue;
                *ret = (OrphanNote){
                        .pid = e->pid,
                        .operation = (char *) e->operation,
                        .volume = (char *) e->volume,
                        .target = (char *) e->target,
                };
                ++*index;
                return true;
        }
        return false;
}

bool children_has(const Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid)
                        return true;
        return false;
}

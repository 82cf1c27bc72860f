/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* This library is preloaded into selvold and selvol-worker. One allocation of one process fails, also one
 * that a library makes. The other functions of the C library that allocate call these three. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail-allocation.h"

static FailAllocation *shared;

__attribute__((constructor)) static void map_shared(void) {
        const char *path = getenv(FAIL_ALLOCATION_FILE);
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *p;

        if (fd < 0)
                return;
        p = mmap(NULL, sizeof(FailAllocation), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void) close(fd);
        shared = p == MAP_FAILED ? NULL : p;
}

#pragma GCC visibility push(default)

static bool fails(void) {
        if (!shared || atomic_load(&shared->pid) != getpid() ||
            atomic_fetch_add(&shared->count, 1) != atomic_load(&shared->fail_at))
                return false;
        errno = ENOMEM;
        return true;
}

/* dlsym(3) is called only once for each function. */
#define NEXT(name)                                                         \
        ({                                                                 \
                static __typeof__(&name) next;                             \
                if (!next)                                                 \
                        next = (__typeof__(next)) dlsym(RTLD_NEXT, #name); \
                next;                                                      \
        })

void *malloc(size_t size) {
        return fails() ? NULL : NEXT(malloc)(size);
}

void *calloc(size_t n, size_t size) {
        return fails() ? NULL : NEXT(calloc)(n, size);
}

void *realloc(void *p, size_t size) {
        return fails() ? NULL : NEXT(realloc)(p, size);
}

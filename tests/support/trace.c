/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* tools/trace preloads this into programs that gcc compiled with -finstrument-functions. It notes each
 * function that a program enters, and each turn of the event loop, in the file $SELVOL_TRACE. The file is
 * mapped as shared memory, which children inherit, and which no close(2) unmaps. */

enum { ENTRIES_MAX = 1 << 20 };

typedef struct Trace {
        _Atomic uint64_t n; /* tools/trace sets this to 0 where the part begins that it shows */
        struct {
                uint32_t pid, thread;
                uint64_t address; /* the address in the program's file; 0: a turn of the event loop */
        } entries[ENTRIES_MAX];
} Trace;

static Trace *trace;
static uintptr_t base;

static int find_base(struct dl_phdr_info *info, size_t size, void *userdata) {
        base = info->dlpi_addr;
        return 1; /* the program is the first */
}

static __attribute__((constructor)) void trace_open(void) {
        int fd = open(getenv("SELVOL_TRACE"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0 || ftruncate(fd, sizeof(Trace)) < 0)
                abort();
        trace = mmap(NULL, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (trace == MAP_FAILED)
                abort();
        close(fd);
        dl_iterate_phdr(find_base, NULL);
}

static void note(uint64_t address) {
        uint64_t i = trace ? atomic_fetch_add(&trace->n, 1) : ENTRIES_MAX;

        if (i >= ENTRIES_MAX)
                return;
        trace->entries[i].pid = (uint32_t) getpid();
        trace->entries[i].thread = (uint32_t) gettid();
        trace->entries[i].address = address;
}

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
        note((uintptr_t) function - base);
}

void __cyg_profile_func_exit(void *function, void *caller) {
}

/* libsystemd 252 and later wait with one of these functions. */
int epoll_wait(int fd, struct epoll_event *events, int max, int timeout) {
        int (*next)(int, struct epoll_event *, int, int) = (__typeof__(next)) dlsym(RTLD_NEXT, "epoll_wait");

        int r = next(fd, events, max, timeout);

        note(0);
        return r;
}

int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask) {
        int (*next)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *) =
                (__typeof__(next)) dlsym(RTLD_NEXT, "epoll_pwait2");

        int r = next(fd, events, max, timeout, mask);

        note(0);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree/engine.h"

enum {
        STACK_SIZE = 256 * 1024,
        CACHE_LINE = 64,
        DESCRIPTORS = 8191,
};

/* More threads than CPUs cost nothing when everything is cached, and let the disk's reads overlap when it
 * isn't. */
static unsigned choose_number(const TreeSpec *spec) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        /* So that it is known which entries are the first. */
        if (spec->max_entries > 0)
                return 1;
        if (spec->threads > 0)
                return spec->threads < TREE_THREADS_MAX ? spec->threads : TREE_THREADS_MAX;
        return cpus < 1 ? 4 : cpus > 8 ? 32 : 4 * (unsigned) cpus;
}

int threads_init(Threads *threads, Walk *w) {
        const Visitor *v = w->spec->visitor;
        size_t scratch = v ? (v->scratch_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE : 0;
        unsigned n = choose_number(w->spec);

        *threads = (Threads){ .list = aligned_alloc(_Alignof(Thread), n * sizeof(Thread)) };
        if (!threads->list)
                return -ENOMEM;
        for (; threads->n < n; threads->n++) {
                Thread *t = &threads->list[threads->n];

                *t = (Thread){ .walk = w };
                if (scratch == 0)
                        continue;
                t->scratch = aligned_alloc(CACHE_LINE, scratch);
                if (!t->scratch)
                        return -ENOMEM;
                memset(t->scratch, 0, scratch);
        }
        /* While threads share the table of descriptors, the kernel waits for an RCU grace period, some
         * milliseconds, each time that the table grows (expand_fdtable()). They don't share it yet, and the
         * table never shrinks. */
        fd_close(fcntl(w->spec->fd, F_DUPFD_CLOEXEC, DESCRIPTORS));
        return 0;
}

void threads_done(Threads *threads) {
        for (unsigned i = 0; i < threads->n; i++)
                free(threads->list[i].scratch);
        free(threads->list);
        *threads = (Threads){ 0 };
}

static void *run_thread(void *userdata) {
        Thread *t = userdata;

        /* A working directory of its own: names relative to it are reached as quickly as relative to a
         * descriptor with setxattrat(2), which Linux has only since 6.13. */
        if (unshare(CLONE_FS) < 0)
                queue_stop(&t->walk->queue, -errno);
        work_run(t);
        /* A thread that is being torn down would keep the mount busy for a moment. */
        if (t->cwd != 0)
                (void) chdir("/");
        return NULL;
}

static uint64_t load(const _Atomic uint64_t *counter) {
        return atomic_load_explicit(counter, memory_order_relaxed);
}

WalkCounts threads_sum(const Threads *threads) {
        WalkCounts c = { .done = 1 };
        uint64_t skipped_again = 0;

        for (unsigned i = 0; i < threads->n; i++) {
                const Thread *t = &threads->list[i];

                c.done += load(&t->done);
                c.changed += load(&t->changed);
                c.mismatched += load(&t->mismatched);
                c.misowned += load(&t->misowned);
                c.skipped += load(&t->skipped);
                skipped_again += load(&t->skipped_again);
        }
        /* At least one must not go unsaid. */
        if (c.skipped == 0 && skipped_again > 0)
                c.skipped = 1;
        c.failed = atomic_load(&threads->list[0].walk->failed);
        return c;
}

static uint64_t sum_steps(const Threads *threads) {
        uint64_t steps = 0;

        for (unsigned i = 0; i < threads->n; i++)
                steps += load(&threads->list[i].steps);
        return steps;
}

static void wait_for_end(const Threads *threads, Walk *w) {
        uint64_t before = sum_steps(threads);

        while (!queue_wait(&w->queue, TREE_PROGRESS_USEC)) {
                uint64_t steps = sum_steps(threads);
                WalkCounts c = threads_sum(threads);
                int r;

                if (steps == before || !w->spec->progress)
                        continue;
                before = steps;
                r = w->spec->progress(&c, w->spec->userdata);
                if (r < 0)
                        queue_stop(&w->queue, r);
        }
}

int threads_run(Threads *threads) {
        Walk *w = threads->list[0].walk;
        pthread_attr_t attributes;
        unsigned n = 0;
        Work *work;
        int r;

        r = pthread_attr_init(&attributes);
        if (r == 0) {
                r = pthread_attr_setstacksize(&attributes, STACK_SIZE);
                while (r == 0 && n < threads->n) {
                        threads->list[n].cwd = 0;
                        r = pthread_create(&threads->list[n].id, &attributes, run_thread, &threads->list[n]);
                        if (r == 0)
                                n++;
                }
                (void) pthread_attr_destroy(&attributes);
        }
        /* With some of them it goes on, slower. */
        if (n == 0)
                queue_stop(&w->queue, -r);
        else
                wait_for_end(threads, w);
        while (n > 0)
                (void) pthread_join(threads->list[--n].id, NULL);
        while ((work = queue_drain(&w->queue)))
                work_discard(&threads->list[0], work);
        return atomic_load(&w->queue.error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/time-util.h"
#include "tree/engine.h"

enum {
        TICK_NSEC = 10000000, /* the longest of the kernel's clock for time stamps */
        /* The second pass visits directories that were modified during the first pass; there is no third
         * pass. */
        PASSES_MAX = 2,
        SYNC_TIMEOUT_SEC = 600,
        STACK_SIZE = 256 * 1024,
        CACHE_LINE = 64,
        DESCRIPTORS = 8191,
};

typedef struct Threads {
        Thread *list;
        unsigned n;
} Threads;

/* More threads than CPUs cost nothing when everything is cached, and let the reads of the disk overlap when
 * it is not. */
static unsigned choose_number(const TreeSpec *spec) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        /* One thread visits the entries in a known order. */
        if (spec->max_entries > 0)
                return 1;
        if (spec->threads > 0)
                return spec->threads < TREE_THREADS_MAX ? spec->threads : TREE_THREADS_MAX;
        return cpus < 1 ? 4 : cpus > 8 ? 32 : 4 * (unsigned) cpus;
}

static int threads_init(Threads *threads, Walk *w) {
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
        /* Each time the table of descriptors grows while threads share it, the kernel waits for an RCU grace
         * period of some milliseconds (expand_fdtable()). So the table grows here, before threads share it;
         * the kernel never shrinks the table. */
        fd_close(fcntl(w->spec->fd, F_DUPFD_CLOEXEC, DESCRIPTORS));
        return 0;
}

static void threads_done(Threads *threads) {
        for (unsigned i = 0; i < threads->n; i++)
                free(threads->list[i].scratch);
        free(threads->list);
        *threads = (Threads){ 0 };
}

static void *run_walk_thread(void *userdata) {
        Thread *t = userdata;

        /* Each thread has its own working directory: a relative path is as fast as a descriptor with
         * setxattrat(2), which Linux has only since 6.13. */
        if (unshare(CLONE_FS) < 0)
                queue_stop(&t->walk->queue, -errno);
        work_run(t);
        /* The working directory of an exiting thread would keep the mount busy for a moment. */
        if (t->cwd != 0)
                (void) chdir("/");
        return NULL;
}

static uint64_t load_counter(const _Atomic uint64_t *counter) {
        return atomic_load_explicit(counter, memory_order_relaxed);
}

static WalkCounts threads_sum(const Threads *threads) {
        WalkCounts c = { .done = 1 };
        uint64_t skipped_again = 0;

        for (unsigned i = 0; i < threads->n; i++) {
                const Thread *t = &threads->list[i];

                c.done += load_counter(&t->done);
                c.changed += load_counter(&t->changed);
                c.mismatched += load_counter(&t->mismatched);
                c.misowned += load_counter(&t->misowned);
                c.skipped += load_counter(&t->skipped);
                skipped_again += load_counter(&t->skipped_again);
        }
        /* The caller must learn that the second pass skipped an entry. */
        if (c.skipped == 0 && skipped_again > 0)
                c.skipped = 1;
        c.failed = atomic_load(&threads->list[0].walk->failed);
        return c;
}

static uint64_t sum_steps(const Threads *threads) {
        uint64_t steps = 0;

        for (unsigned i = 0; i < threads->n; i++)
                steps += load_counter(&threads->list[i].steps);
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

static int threads_run(Threads *threads) {
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
                        r = pthread_create(&threads->list[n].id, &attributes, run_walk_thread, &threads->list[n]);
                        if (r == 0)
                                n++;
                }
                (void) pthread_attr_destroy(&attributes);
        }
        /* If only some threads could be started, the walk is slower. */
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

static void *run_sync(void *userdata) {
        Walk *w = userdata;

        if (syncfs(w->spec->fd) < 0)
                atomic_store(&w->sync_error, errno);
        queue_end(&w->queue);
        return NULL;
}

/* syncfs(2) can take long and shows no progress, so progress() is called for SYNC_TIMEOUT_SEC. */
static int sync_volume(Walk *w, const WalkCounts *counts) {
        pthread_t id;
        int r;

        queue_begin(&w->queue, NULL);
        r = pthread_create(&id, NULL, run_sync, w);
        if (r != 0)
                return -r;
        for (unsigned i = 0; !queue_wait(&w->queue, TREE_PROGRESS_USEC); i++)
                if (w->spec->progress && i < SYNC_TIMEOUT_SEC * USEC_PER_SEC / TREE_PROGRESS_USEC)
                        (void) w->spec->progress(counts, w->spec->userdata);
        (void) pthread_join(id, NULL);
        return -atomic_load(&w->sync_error);
}

/* All entries beneath the root are done: syncs the file system, then changes and syncs the root. */
static int finish_changes(Walk *w, WalkCounts *counts) {
        const Visitor *v = w->spec->visitor;
        TreeVisit done = { 0 };
        int r;

        r = sync_volume(w, counts);
        if (r < 0)
                return r;
        r = v->finish(v, w->spec->fd, &done);
        free(done.text);
        w->root_changed = w->root_changed || done.changed;
        if (r < 0 || !done.changed)
                return r;
        if (fsync(w->spec->fd) < 0)
                return -errno;
        /* Entries that were created in the root before its change may have inherited the root's old label or
         * group. */
        if (dir_was_modified(w, w->spec->fd))
                counts->modified++;
        return 0;
}

/* Waits until a change gets a stamp of at least nsec. A stamp that is further ahead is of a clock that ran
 * ahead. */
static void wait_for_stamp(uint64_t nsec) {
        uint64_t now;

        while ((now = clock_nsec(CLOCK_REALTIME_COARSE)) < nsec && nsec - now <= NSEC_PER_SEC + TICK_NSEC) {
                const struct timespec wait = timespec_of_nsec(nsec - now);

                (void) nanosleep(&wait, NULL);
        }
}

/* Begins a pass at a stamp that no change of before has: the worker may just have written the root's mark,
 * and the pass before may just have ended. The kernel stamps a change with the time of its last tick, or
 * later. File systems cut stamps to a microsecond or less, or to a second, as ext with inodes of 128 bytes
 * does: then the root's ctime has no nanoseconds. */
static int begin_pass(Walk *w) {
        uint64_t granularity, last;
        struct stat st;

        if (fstat(w->spec->fd, &st) < 0)
                return -errno;
        granularity = st.st_ctim.tv_nsec == 0 ? NSEC_PER_SEC : NSEC_PER_USEC;
        last = w->pass == 0 ? timespec_nsec(&st.st_ctim) : clock_nsec(CLOCK_REALTIME);
        if (walk_changes(w))
                wait_for_stamp(last - last % granularity + granularity);
        w->pass++;
        w->pass_since_nsec = clock_nsec(CLOCK_REALTIME_COARSE);
        w->pass_since_nsec -= w->pass_since_nsec % granularity;
        if (w->pass == 1)
                w->since_nsec = w->pass_since_nsec;
        if (fstat(w->spec->fd, &st) < 0)
                return -errno;
        w->root_ctime_nsec = timespec_nsec(&st.st_ctim);
        return 0;
}

/* Runs one pass and, if no entry failed and no second pass is needed, finishes the changes. */
static int run_pass(Walk *w, Threads *threads, WalkCounts *ret) {
        Dir *root;
        int r;

        r = begin_pass(w);
        if (r < 0)
                return r;
        r = dirs_limit(w);
        if (r < 0)
                return r;
        root = dir_new(w, NULL, "", 0);
        if (!root)
                return -ENOMEM;
        atomic_store(&w->modified, 0);
        queue_begin(&w->queue, &root->work);
        r = threads_run(threads);
        if (r < 0)
                return r;
        *ret = threads_sum(threads);
        if (!walk_changes(w) || ret->failed > 0)
                return 0;
        ret->modified = atomic_load(&w->modified);
        if (ret->modified > 0 && w->pass < PASSES_MAX)
                return 0;
        r = finish_changes(w, ret);
        if (r < 0) {
                dir_add_issue(w, NULL, NULL, NULL, -r);
                ret->failed++;
        }
        return 0;
}

static int finish_comparison(Walk *w, WalkCounts *counts) {
        const Visitor *v = w->spec->visitor;
        TreeVisit found = { 0 };
        int r;

        r = v->finish(v, w->spec->fd, &found);
        counts->mismatched += found.mismatched;
        counts->misowned += found.misowned;
        if (r < 0)
                free(found.text);
        else if (found.text)
                dir_add_issue(w, NULL, NULL, found.text, 0);
        return r;
}

/* The passes rely on time stamps: nobody may set the clock back meanwhile, and the file system must use the
 * same clock. */
static int run_passes(Walk *w, WalkCounts *ret) {
        _cleanup_(threads_done) Threads threads = { 0 };
        int r;

        r = threads_init(&threads, w);
        if (r < 0)
                return r;
        do {
                r = run_pass(w, &threads, ret);
                if (r < 0)
                        return r;
        } while (ret->failed == 0 && ret->modified > 0 && w->pass < PASSES_MAX);
        ret->changed += w->root_changed;
        return w->spec->visitor && !walk_changes(w) ? finish_comparison(w, ret) : 0;
}

int tree_walk(const TreeSpec *spec, WalkResult *ret) {
        Walk w = { .spec = spec, .issues_lock = PTHREAD_MUTEX_INITIALIZER };
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        assert(!(spec->max_entries > 0 && walk_changes(&w)));
        w.issues = result.issues = calloc(WALK_ISSUES_MAX, sizeof(WalkIssue));
        if (!w.issues)
                return -ENOMEM;
        r = queue_init(&w.queue);
        if (r < 0)
                return r;
        r = run_passes(&w, &result.counts);
        queue_done(&w.queue);
        result.n_issues = w.n_issues;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(result);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "basic/time-util.h"
#include "label/selinux.h"
#include "label/tree-internal.h"

enum {
        /* The clock of time stamps goes by the kernel's ticks, of 10 ms at most. */
        CLOCK_LAG_NSEC = 50000000,
        /* Directories that changed during the first pass are looked at a second time, and no more. */
        PASSES_MAX = 2,
        STACK_SIZE = 256 * 1024,
        SYNC_PATIENCE_SEC = 600,
};

/* More threads than CPUs cost nothing when everything is cached, and let the disk's reads overlap when it isn't. */
static unsigned choose_threads(unsigned wanted) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        if (wanted == 0)
                wanted = cpus < 1 ? 4 : cpus > 8 ? 32 : 4 * (unsigned) cpus;
        return wanted > TREE_THREADS_MAX ? TREE_THREADS_MAX : wanted;
}

static void *run_thread(void *userdata) {
        Thread *t = userdata;
        Walk *w = t->walk;
        Work *work = NULL;
        bool had_work = false;

        /* A working directory of its own: names relative to it are reached as quickly as relative to a descriptor
         * with setxattrat(2), which Linux has only since 6.13. */
        if (unshare(CLONE_FS) < 0)
                walk_stop(w, -errno);

        while ((work = work ?: queue_take(w, had_work))) {
                had_work = true;
                work = work->kind == WORK_DIR ? dir_step(t, (Dir *) work) : batch_step(t, (Batch *) work);
                if (work && walk_is_stopped(w)) {
                        work_discard(t, work);
                        work = NULL;
                }
        }
        t->spare = t->spare ? chunk_free(w, t->spare) : NULL;
        /* A thread that is being torn down would keep the mount busy for a moment. */
        if (t->cwd != 0)
                (void) chdir("/");
        return NULL;
}

static TreeCounts sum_counts(Walk *w, const Thread *threads, unsigned n) {
        TreeCounts c = { .done = 1, .failed = atomic_load(&w->failed) };
        uint64_t skipped_later = 0;

        for (unsigned i = 0; i < n; i++) {
                c.done += atomic_load_explicit(&threads[i].done, memory_order_relaxed);
                c.changed += atomic_load_explicit(&threads[i].changed, memory_order_relaxed);
                c.mismatched += atomic_load_explicit(&threads[i].mismatched, memory_order_relaxed);
                c.misowned += atomic_load_explicit(&threads[i].misowned, memory_order_relaxed);
                c.skipped += atomic_load_explicit(&threads[i].skipped, memory_order_relaxed);
                skipped_later += atomic_load_explicit(&threads[i].skipped_later, memory_order_relaxed);
        }
        /* At least one must not go unsaid. */
        if (c.skipped == 0 && skipped_later > 0)
                c.skipped = 1;
        return c;
}

static uint64_t sum_steps(const Thread *threads, unsigned n) {
        uint64_t steps = 0;

        for (unsigned i = 0; i < n; i++)
                steps += atomic_load_explicit(&threads[i].steps, memory_order_relaxed);
        return steps;
}

/* Waits until the walk has ended, or for the time between two tellings. Returns whether it has. */
static bool wait_a_while(Walk *w) {
        const struct timespec until =
                timespec_of_nsec(clock_nsec(CLOCK_MONOTONIC) + TREE_PROGRESS_USEC * NSEC_PER_USEC);
        bool ended;
        int r = 0;

        pthread_mutex_lock(&w->lock);
        while (!w->ended && r == 0)
                r = pthread_cond_timedwait(&w->idle, &w->lock, &until);
        ended = w->ended;
        pthread_mutex_unlock(&w->lock);
        return ended;
}

/* Waits for the threads to have done everything, and tells how far they are meanwhile. */
static void wait_for_end(Walk *w, const Thread *threads, unsigned n) {
        uint64_t before = sum_steps(threads, n);

        while (!wait_a_while(w)) {
                uint64_t steps = sum_steps(threads, n);
                TreeCounts c = sum_counts(w, threads, n);
                int r;

                if (steps == before || !w->spec->progress)
                        continue;
                before = steps;
                r = w->spec->progress(&c, w->spec->userdata);
                if (r < 0)
                        walk_stop(w, r);
        }
}

static int start_threads(Walk *w, Thread *threads, unsigned n, unsigned *ret_started) {
        pthread_attr_t attributes;
        unsigned i;
        int r;

        r = pthread_attr_init(&attributes);
        if (r == 0)
                r = pthread_attr_setstacksize(&attributes, STACK_SIZE);
        for (i = 0; r == 0 && i < n; i++) {
                threads[i].walk = w;
                threads[i].cwd = 0;
                r = pthread_create(&threads[i].id, &attributes, run_thread, &threads[i]);
                if (r != 0)
                        break;
        }
        (void) pthread_attr_destroy(&attributes);
        *ret_started = i;
        return i > 0 ? 0 : -r; /* with some of them it goes on, slower */
}

/* One pass over everything beneath the root. */
static int walk_pass(Walk *w, Thread *threads, unsigned n) {
        unsigned started = 0;
        struct stat st;
        Dir *root;
        int r;

        if (fstat(w->spec->fd, &st) < 0)
                return -errno;
        w->root_ctime_nsec = timespec_nsec(&st.st_ctim);
        root = dir_new(w, NULL, "", 0);
        if (!root)
                return -ENOMEM;
        w->pass_since_nsec = clock_nsec(CLOCK_REALTIME) - CLOCK_LAG_NSEC;
        if (w->pass == 1)
                w->since_nsec = w->pass_since_nsec;
        w->stack = &root->work;
        w->n_working = w->n_waiting = 0;
        w->ended = false;
        atomic_store(&w->unsettled, 0);

        r = start_threads(w, threads, n, &started);
        if (r < 0)
                walk_stop(w, r);
        else
                wait_for_end(w, threads, n);
        for (unsigned i = 0; i < started; i++)
                (void) pthread_join(threads[i].id, NULL);
        while (w->stack) {
                Work *work = w->stack;

                w->stack = work->next;
                work_discard(&threads[0], work);
        }
        return atomic_load(&w->error);
}

/* What was written just before a pass could be taken for what is written during it. */
static void sleep_over_lag(void) {
        const struct timespec lag = { .tv_nsec = CLOCK_LAG_NSEC };

        (void) nanosleep(&lag, NULL);
}

static int check_file_system(const TreeSpec *spec, Failure *f) {
        struct statvfs sv;
        int r;

        if (spec->mode == TREE_COUNT)
                return 0;
        if (spec->context) {
                r = selinux_require_labels(spec->fd, f);
                if (r != 0)
                        return r;
        }
        if (fstatvfs(spec->fd, &sv) < 0)
                return -errno;
        if (spec->mode == TREE_CHANGE && sv.f_flag & ST_RDONLY)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "The volume is read-only, so neither label nor group of its files can be changed%s.",
                        spec->context ? ": mount it with a context (OnVolumeMount), which needs no change" : "");
        return 0;
}

static bool is_ext4(int fd) {
        struct statfs sfs;

        return fstatfs(fd, &sfs) >= 0 && sfs.f_type == EXT4_SUPER_MAGIC;
}

static void *run_sync(void *userdata) {
        Walk *w = userdata;

        if (syncfs(w->spec->fd) < 0)
                atomic_store(&w->sync_error, errno);
        pthread_mutex_lock(&w->lock);
        w->ended = true;
        pthread_cond_signal(&w->idle);
        pthread_mutex_unlock(&w->lock);
        return NULL;
}

/* It can take long, without a sign of how far it is; so for some time it is taken to get on. */
static int sync_volume(Walk *w, const TreeCounts *counts) {
        pthread_t id;
        int r;

        w->ended = false;
        r = pthread_create(&id, NULL, run_sync, w);
        if (r != 0)
                return -r;
        for (unsigned i = 0; !wait_a_while(w); i++)
                if (w->spec->progress && i < SYNC_PATIENCE_SEC * USEC_PER_SEC / TREE_PROGRESS_USEC)
                        (void) w->spec->progress(counts, w->spec->userdata);
        (void) pthread_join(id, NULL);
        return -atomic_load(&w->sync_error);
}

static int write_root_label(Walk *w, unsigned *written) {
        _cleanup_free_ char *label = NULL;
        int r;

        r = selinux_read_label(w->spec->fd, &label);
        if (r < 0 || streq(label, w->spec->context))
                return r;
        if (fsetxattr(w->spec->fd, LABEL_XATTR, w->spec->context, w->context_size, 0) < 0)
                return -errno;
        *written |= WROTE_LABEL;
        return 0;
}

static int write_root(Walk *w, unsigned *written) {
        int r = 0;

        if (w->spec->context)
                r = write_root_label(w, written);
        if (r >= 0 && w->spec->ownership)
                r = owner_change(w, &(Spot){ .fd = w->spec->fd }, written);
        if (r >= 0 && *written && fsync(w->spec->fd) < 0)
                r = -errno;
        return r;
}

/* Everything beneath is done: has it come to disk, and the root? */
static int finish_change(Walk *w, TreeCounts *counts) {
        unsigned written = 0;
        int r;

        r = sync_volume(w, counts);
        if (r < 0)
                return r;
        r = write_root(w, &written);
        w->root_written = w->root_written || written;
        if (r < 0 || !written)
                return r;
        /* What was created in the root before it was written has its old label and group. */
        if (dir_has_changed(w, w->spec->fd))
                counts->unsettled++;
        return 0;
}

/* One pass, and, if nothing failed and nothing is left to look at a second time, what comes after it. */
static int walk_and_finish(Walk *w, Thread *threads, unsigned n, TreeCounts *ret) {
        int r;

        w->pass++;
        r = walk_pass(w, threads, n);
        *ret = sum_counts(w, threads, n);
        if (r < 0 || w->spec->mode != TREE_CHANGE || ret->failed > 0)
                return r;
        ret->unsettled = atomic_load(&w->unsettled);
        if (ret->unsettled > 0 && w->pass < PASSES_MAX)
                return 0;
        r = finish_change(w, ret);
        if (r < 0) {
                issue_add_error(w, NULL, NULL, -r);
                ret->failed = atomic_load(&w->failed);
        }
        return 0;
}

/* All of this rests on time stamps, so on a clock that is not set back meanwhile, and the same one as the file
 * system's. */
static int walk_passes(Walk *w, Thread *threads, unsigned n, TreeCounts *ret) {
        int r;

        do {
                if (w->pass > 0)
                        sleep_over_lag();
                r = walk_and_finish(w, threads, n, ret);
        } while (r >= 0 && ret->failed == 0 && ret->unsettled > 0 && w->pass < PASSES_MAX);
        ret->changed += w->root_written;
        return r;
}

static int walk_prepare(Walk *w, const TreeSpec *spec) {
        pthread_condattr_t monotonic;
        int r;

        *w = (Walk){
                .spec = spec,
                .context_size = spec->context ? strlen(spec->context) + 1 : 0,
        };
        r = pthread_condattr_init(&monotonic);
        if (r == 0)
                r = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        if (r == 0)
                r = pthread_cond_init(&w->idle, &monotonic);
        (void) pthread_condattr_destroy(&monotonic);
        if (r == 0)
                r = pthread_cond_init(&w->wake, NULL);
        if (r == 0)
                r = pthread_mutex_init(&w->lock, NULL);
        return -r;
}

static void walk_done(Walk *w) {
        issues_done(w->issues, w->n_issues);
        (void) pthread_mutex_destroy(&w->lock);
        (void) pthread_cond_destroy(&w->wake);
        (void) pthread_cond_destroy(&w->idle);
}

void tree_result_done(TreeResult *r) {
        issues_done(r->issues, r->n_issues);
        free(r->root_label);
        *r = (TreeResult){ 0 };
}

/* Where threads share the table of descriptors the kernel waits for an RCU grace period, some milliseconds, each time
 * that it grows (expand_fdtable()); now they don't yet. It never shrinks. */
static void make_room_for_descriptors(int fd) {
        enum { DESCRIPTORS = 8191 };

        fd_close(fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTORS));
}

static int verify_root(Walk *w, const char *label, TreeCounts *counts) {
        const TreeSpec *spec = w->spec;
        TreeIssue found = { 0 };
        int r = 0;

        if (spec->context && !streq(label, spec->context)) {
                counts->mismatched++;
                found.label = (char *) label;
        }
        if (spec->ownership)
                r = owner_verify(spec->ownership, &(Spot){ .fd = spec->fd }, &found);
        if (r < 0)
                return r;
        counts->misowned += found.misowned;
        if (found.label || found.misowned)
                issue_add(w, NULL, NULL, &found);
        return 0;
}

/* Whether labels are written without a look: where all are known to be others; and on ext4 where the root's is another
 * one, as ext4 leaves an inode alone, and its ctime, that is given the value it has (ext4_xattr_set_handle(), seen with
 * Linux 6.1 and 6.18). */
static bool writes_blindly(const Walk *w, const char *root_label) {
        if (w->spec->mode != TREE_CHANGE)
                return false;
        return w->spec->blind || (is_ext4(w->spec->fd) && !streq(root_label, w->spec->context));
}

static int walk(Walk *w, TreeResult *ret) {
        unsigned n = choose_threads(w->spec->max_entries > 0 ? 1 : w->spec->threads);
        _cleanup_free_ char *label = NULL;
        _cleanup_free_ Thread *threads = NULL;
        TreeCounts counts;
        int r;

        threads = aligned_alloc(_Alignof(Thread), n * sizeof(Thread));
        if (!threads)
                return -ENOMEM;
        memset(threads, 0, n * sizeof(Thread));
        for (unsigned i = 0; i < n; i++)
                threads[i].walk = w;
        make_room_for_descriptors(w->spec->fd);
        if (w->spec->mode != TREE_COUNT && w->spec->context) {
                r = selinux_read_label(w->spec->fd, &label);
                if (r < 0)
                        return r;
                w->blind = writes_blindly(w, label);
        }

        r = walk_passes(w, threads, n, &counts);
        if (r >= 0 && w->spec->mode == TREE_VERIFY)
                r = verify_root(w, strempty(label), &counts);
        if (r < 0)
                return r;

        *ret = (TreeResult){ .counts = counts, .n_issues = w->n_issues, .root_label = TAKE_PTR(label) };
        memcpy(ret->issues, w->issues, sizeof(ret->issues));
        w->n_issues = 0;
        return 0;
}

int tree_walk(const TreeSpec *spec, TreeResult *ret, Failure *f) {
        Walk w;
        int r;

        r = check_file_system(spec, f);
        if (r != 0)
                return r;
        r = walk_prepare(&w, spec);
        if (r < 0)
                return r;
        r = walk(&w, ret);
        walk_done(&w);
        return r;
}

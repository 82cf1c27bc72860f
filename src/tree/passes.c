/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/time-util.h"
#include "tree/engine.h"

enum {
        /* The clock of time stamps goes by the kernel's ticks, of 10 ms at most. */
        CLOCK_LAG_NSEC = 50000000,
        /* Directories that were modified during the first pass are looked at a second time, and no more. */
        PASSES_MAX = 2,
        SYNC_TIMEOUT_SEC = 600,
};

static int begin_pass(Walk *w) {
        struct stat st;
        Dir *root;

        if (fstat(w->spec->fd, &st) < 0)
                return -errno;
        root = dir_new(w, NULL, "", 0);
        if (!root)
                return -ENOMEM;
        w->pass++;
        w->root_ctime_nsec = timespec_nsec(&st.st_ctim);
        w->pass_since_nsec = clock_nsec(CLOCK_REALTIME) - CLOCK_LAG_NSEC;
        if (w->pass == 1)
                w->since_nsec = w->pass_since_nsec;
        atomic_store(&w->modified, 0);
        queue_begin(&w->queue, &root->work);
        return 0;
}

static void *run_sync(void *userdata) {
        Walk *w = userdata;

        if (syncfs(w->spec->fd) < 0)
                atomic_store(&w->sync_error, errno);
        queue_end(&w->queue);
        return NULL;
}

/* It can take long, without a sign of how far it is; so for some time it is taken to get on. */
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

/* Everything beneath is done: has it come to disk, and the root? */
static int change_root(Walk *w, WalkCounts *counts) {
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
        /* What was created in the root before it was changed may be as the root was. */
        if (dir_was_modified(w, w->spec->fd))
                counts->modified++;
        return 0;
}

/* One pass, and, if nothing failed and nothing is left to look at a second time, what comes after it. */
static int run_pass(Walk *w, Threads *threads, WalkCounts *ret) {
        int r;

        r = begin_pass(w);
        if (r < 0)
                return r;
        r = threads_run(threads);
        if (r < 0)
                return r;
        *ret = threads_sum(threads);
        if (!walk_changes(w) || ret->failed > 0)
                return 0;
        ret->modified = atomic_load(&w->modified);
        if (ret->modified > 0 && w->pass < PASSES_MAX)
                return 0;
        r = change_root(w, ret);
        if (r < 0) {
                dir_add_issue(w, NULL, NULL, NULL, -r);
                ret->failed++;
        }
        return 0;
}

static int compare_root(Walk *w, WalkCounts *counts) {
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

/* Time stamps tell that an entry was modified: this needs a clock that is not set back meanwhile, and is
 * the same one as the file system's. */
static int walk(Walk *w, WalkCounts *ret) {
        _cleanup_(threads_done) Threads threads = { 0 };
        const struct timespec lag = { .tv_nsec = CLOCK_LAG_NSEC };
        int r;

        r = threads_init(&threads, w);
        if (r < 0)
                return r;
        for (;;) {
                r = run_pass(w, &threads, ret);
                if (r < 0)
                        return r;
                if (ret->failed > 0 || ret->modified == 0 || w->pass >= PASSES_MAX)
                        break;
                /* A write just before a pass could be taken for one during it. */
                (void) nanosleep(&lag, NULL);
        }
        ret->changed += w->root_changed;
        return w->spec->visitor && !walk_changes(w) ? compare_root(w, ret) : 0;
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
        r = walk(&w, &result.counts);
        queue_done(&w.queue);
        result.n_issues = w.n_issues;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(result);
        return 0;
}

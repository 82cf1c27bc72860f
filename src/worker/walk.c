/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/log.h"
#include "model/limits.h"
#include "label/files.h"
#include "worker/ask.h"
#include "worker/walk.h"

/* A swap of groups mends nothing, so that the mark alone is not enough; but the time it takes to compare
 * must not grow with the volume. */
enum { ENTRIES_COMPARED = 1024 };

typedef struct Reporter {
        Child *child;
        uint64_t total;
        bool counting; /* what is only counted is not done yet */
        bool quiet;    /* it is no walk that anybody waits for */
} Reporter;

static int report(const WalkCounts *counts, void *userdata) {
        static const WalkCounts nothing = { 0 };
        const Reporter *reporter = userdata;

        if (child_peer_is_gone(reporter->child))
                return -ECANCELED;
        if (reporter->quiet)
                return 0;
        return tell_progress(reporter->child, reporter->counting ? &nothing : counts, reporter->total);
}

/* Each directory on the way down is kept open, and a tree may be deep. */
static void raise_file_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) >= 0 && limit.rlim_cur < limit.rlim_max) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
}

/* Threads that are started inherit it. */
static void set_io_class(int io_class) {
        (void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(io_class, 0));
}

/* What comes after the walk, such as publishing the mount, is waited for: it is not idle. */
static int run(FilesSpec *files, const WalkSpec *spec, Reporter *reporter, WalkResult *ret, Failure *f) {
        const bool idle = reporter->child->settings->io_class == IO_CLASS_IDLE;
        int r;

        files->tree.fd = spec->root;
        files->tree.part = spec->part;
        files->tree.entries_per_sec =
                spec->entries_per_sec < WALK_ENTRIES_PER_SEC_MAX ? spec->entries_per_sec : WALK_ENTRIES_PER_SEC_MAX;
        files->tree.progress = report;
        files->tree.userdata = reporter;

        raise_file_limit();
        if (idle)
                set_io_class(IOPRIO_CLASS_IDLE);
        r = reporter->counting ? tree_walk(&files->tree, ret) : files_walk(files, ret, f);
        if (idle)
                set_io_class(IOPRIO_CLASS_NONE);
        return r;
}

int walk_tell_start(Child *c, uint64_t total) {
        static const WalkCounts nothing = { 0 };

        log_debug("Walking over %llu entries.", (unsigned long long) total);
        return tell_progress(c, &nothing, total);
}

int walk_count(Child *c, const WalkSpec *spec, uint64_t *ret, Failure *f) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        FilesSpec files = { 0 };
        int r;

        r = run(&files, spec, &(Reporter){ .child = c, .counting = true }, &result, f);
        if (r != 0)
                return r;
        *ret = result.counts.done;
        return 0;
}

int walk_change(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) {
        FilesSpec files = {
                .mode = FILES_CHANGE,
                .context = spec->context,
                .ownership = spec->ownership,
                .blind = spec->blind,
                .contended = spec->contended,
        };

        return run(&files, spec, &(Reporter){ .child = c, .total = spec->total }, ret, f);
}

int walk_verify(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) {
        FilesSpec files = { .mode = FILES_VERIFY, .context = spec->context, .ownership = spec->ownership };

        return run(&files, spec, &(Reporter){ .child = c, .total = spec->total }, ret, f);
}

int walk_compare(Child *c, const WalkSpec *spec, char **ret, Failure *f) {
        FilesSpec files = {
                .mode = FILES_VERIFY,
                .context = spec->context,
                .ownership = spec->ownership,
                .tree.max_entries = ENTRIES_COMPARED,
        };
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = run(&files, spec, &(Reporter){ .child = c, .quiet = true }, &result, f);
        if (r != 0)
                return r;
        *ret = NULL;
        if (result.counts.mismatched == 0 && result.counts.misowned == 0 && result.counts.failed == 0)
                return 0;
        *ret = result.n_issues > 0 ? strdup_printf("%s %s", result.issues[0].path, result.issues[0].text)
                                   : strdup("some files differ, or could not be looked at");
        return *ret ? 0 : -ENOMEM;
}

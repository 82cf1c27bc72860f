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

enum {
        PATH_MAX_BYTES = 4096, /* of an issue's path, escaped */
        /* A swap of groups mends nothing, so that the mark alone is not enough; but the time it takes to compare must
         * not grow with the volume. */
        ENTRIES_COMPARED = 1024,
};

_Static_assert((int) TREE_ISSUES_MAX <= (int) WALK_ISSUES_MAX, "the engine names more than the wire carries");

typedef struct Reporter {
        Child *child;
        uint64_t total;
        bool counting; /* what is only counted is not done yet */
        bool quiet;    /* it is no walk that anybody waits for */
} Reporter;

static WalkCounts convert_counts(const TreeCounts *c) {
        return (WalkCounts){
                .done = c->done,
                .changed = c->changed,
                .mismatched = c->differ[DIFFERS_LABEL],
                .misowned = c->differ[DIFFERS_OWNER],
                .failed = c->failed,
                .skipped = c->skipped,
                .modified = c->modified,
        };
}

static int report(const TreeCounts *counts, void *userdata) {
        const Reporter *reporter = userdata;
        WalkCounts told = reporter->counting ? (WalkCounts){ 0 } : convert_counts(counts);

        if (child_peer_is_gone(reporter->child))
                return -ECANCELED;
        if (reporter->quiet)
                return 0;
        return tell_progress(reporter->child, &told, reporter->total);
}

static int convert_result(const TreeResult *tree, bool group, WalkResult *ret) {
        _cleanup_(walk_result_done) WalkResult w = { .counts = convert_counts(&tree->counts) };

        w.issues = calloc(TREE_ISSUES_MAX, sizeof(WalkIssue));
        if (!w.issues)
                return -ENOMEM;
        for (size_t i = 0; i < tree->n_issues; i++) {
                WalkIssue *issue = &w.issues[w.n_issues++];

                issue->path = string_escape(tree->issues[i].path, PATH_MAX_BYTES);
                issue->text = strdup(tree->issues[i].error != 0 ? files_error_text(tree->issues[i].error, group)
                                                                : strempty(tree->issues[i].text));
                if (!issue->path || !issue->text)
                        return -ENOMEM;
        }
        *ret = w;
        w = (WalkResult){ 0 };
        return 0;
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
        _cleanup_(tree_result_done) TreeResult result = { 0 };
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
        r = reporter->counting ? tree_walk(&files->tree, &result) : files_walk(files, &result, f);
        if (idle)
                set_io_class(IOPRIO_CLASS_NONE);
        return r != 0 ? r : convert_result(&result, files->ownership, ret);
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

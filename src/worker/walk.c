/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/resource.h>

#include "basic/log.h"
#include "label/tree.h"
#include "worker/ask.h"
#include "worker/walk.h"

/* Of an issue's path, escaped. */
enum { PATH_MAX_BYTES = 4096 };

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
                .mismatched = c->mismatched,
                .misowned = c->misowned,
                .failed = c->failed,
                .skipped = c->skipped,
                .modified = c->unsettled,
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

static char *describe_label(const char *label) {
        _cleanup_free_ char *escaped = NULL;

        if (isempty(label))
                return strdup("has no label");
        escaped = string_escape(label, CONTEXT_MAX);
        return escaped ? strdup_printf("has the label '%s'", escaped) : NULL;
}

static char *describe_issue(const TreeIssue *issue) {
        _cleanup_free_ char *label = NULL;
        unsigned gid = issue->gid, mode = issue->mode & 07777;

        if (issue->error != 0)
                return strdup(tree_error_text(issue->error));
        if (issue->label || !issue->misowned)
                label = describe_label(issue->label);
        if (!issue->misowned)
                return TAKE_PTR(label);
        if (!issue->label)
                return strdup_printf("has group %u and mode %04o", gid, mode);
        return label ? strdup_printf("%s and has group %u and mode %04o", label, gid, mode) : NULL;
}

static int convert_result(const TreeResult *tree, WalkResult *ret) {
        _cleanup_(walk_result_done) WalkResult w = { .counts = convert_counts(&tree->counts) };

        w.issues = calloc(TREE_ISSUES_MAX, sizeof(WalkIssue));
        if (!w.issues)
                return -ENOMEM;
        for (size_t i = 0; i < tree->n_issues; i++) {
                WalkIssue *issue = &w.issues[w.n_issues++];

                issue->path = string_escape(tree->issues[i].path, PATH_MAX_BYTES);
                issue->text = describe_issue(&tree->issues[i]);
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

static int walk(TreeMode mode, const WalkSpec *spec, Reporter *reporter, WalkResult *ret, Failure *f) {
        const TreeSpec tree = {
                .mode = mode,
                .fd = spec->root,
                .context = spec->context,
                .ownership = spec->ownership,
                .blind = spec->blind,
                .contended = spec->contended,
                .part = spec->part,
                .entries_per_sec = spec->entries_per_sec < WALK_ENTRIES_PER_SEC_MAX ? spec->entries_per_sec
                                                                                    : WALK_ENTRIES_PER_SEC_MAX,
                .progress = report,
                .userdata = reporter,
        };
        _cleanup_(tree_result_done) TreeResult result = { 0 };
        int r;

        raise_file_limit();
        r = tree_walk(&tree, &result, f);
        return r != 0 ? r : convert_result(&result, ret);
}

int walk_tell_start(Child *c, uint64_t total) {
        static const WalkCounts nothing = { 0 };

        log_debug("Walking over %llu entries.", (unsigned long long) total);
        return tell_progress(c, &nothing, total);
}

int walk_count(Child *c, const WalkSpec *spec, uint64_t *ret, Failure *f) {
        const WalkSpec count = { .root = spec->root, .part = spec->part, .entries_per_sec = spec->entries_per_sec };
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = walk(TREE_COUNT, &count, &(Reporter){ .child = c, .counting = true }, &result, f);
        if (r != 0)
                return r;
        *ret = result.counts.done;
        return 0;
}

int walk_change(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) {
        return walk(TREE_CHANGE, spec, &(Reporter){ .child = c, .total = spec->total }, ret, f);
}

int walk_verify(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) {
        return walk(TREE_VERIFY, spec, &(Reporter){ .child = c, .total = spec->total }, ret, f);
}

int walk_compare(Child *c, const WalkSpec *spec, char **ret, Failure *f) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = walk(TREE_VERIFY, spec, &(Reporter){ .child = c, .quiet = true }, &result, f);
        if (r != 0)
                return r;
        *ret = NULL;
        if (result.counts.mismatched == 0 && result.counts.misowned == 0 && result.counts.failed == 0)
                return 0;
        *ret = result.n_issues > 0 ? strdup_printf("%s %s", result.issues[0].path, result.issues[0].text)
                                   : strdup("some files differ, or could not be looked at");
        return *ret ? 0 : -ENOMEM;
}

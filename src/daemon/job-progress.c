/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job.h"

/* How far a walk has come, by the worker's account, which is checked: it is another process, and reads what others
 * have written. */

enum { USEC_PER_SEC = 1000000 };

/* More entries than any file system has, and few enough that no product below runs over. */
#define COUNT_MAX UINT64_C(10000000000000)

void walk_done(Walk *w) {
        walk_result_done(&w->result);
        free(w->text);
        *w = (Walk){ 0 };
}

/* An entry may fail in more than one way, so failures are not bounded by the entries. */
static bool counts_are_possible(const WalkCounts *before, const WalkCounts *c) {
        return c->done <= COUNT_MAX && c->failed <= COUNT_MAX && c->skipped <= COUNT_MAX && c->changed <= c->done &&
               c->mismatched <= c->done && c->done >= before->done && c->changed >= before->changed &&
               c->mismatched >= before->mismatched && c->failed >= before->failed;
}

static void measure(Walk *w, uint64_t now) {
        uint64_t done = w->result.counts.done, elapsed = now - w->started_usec;

        w->entries_per_sec = elapsed > 0 ? done * USEC_PER_SEC / elapsed : 0;
        w->expected_end_usec = 0;
        if (w->total > done && w->entries_per_sec > 0)
                w->expected_end_usec = now_realtime_usec() + (w->total - done) * USEC_PER_SEC / w->entries_per_sec;
}

int walk_take_counts(Walk *w, const WalkCounts *counts, const uint64_t *total) {
        bool further = counts->done > w->result.counts.done;

        if (!counts_are_possible(&w->result.counts, counts) || (total && *total > COUNT_MAX))
                return -EBADMSG;
        w->result.counts = *counts;
        if (total && *total > 0)
                w->total = *total;
        /* It is an estimate, and there were more. */
        if (!total || (w->total > 0 && w->total < counts->done))
                w->total = counts->done;
        measure(w, now_monotonic_usec());
        return further;
}

int walk_take_result(Walk *w, WalkResult *result) {
        int r;

        r = walk_take_counts(w, &result->counts, NULL);
        if (r < 0)
                return r;
        walk_result_done(&w->result);
        w->result = *result;
        *result = (WalkResult){ 0 };
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "daemon/job.h"

/* How far a walk has come, by the worker's account, which is checked: it is another process, and reads what others
 * have written. */

/* More entries than any file system has, and few enough that no product below runs over. */
#define COUNT_MAX UINT64_C(10000000000000)

void walk_done(Walk *w) {
        walk_result_done(&w->result);
        free(w->text);
        free(w->why);
        *w = (Walk){ 0 };
}

/* The counts are no snapshot, and an entry that others keep changing is changed more than once: none bounds another.
 * But none is turned back. */
static bool counts_are_possible(const WalkCounts *before, const WalkCounts *c) {
        const uint64_t now[] = {
                c->done, c->changed, c->mismatched, c->misowned, c->failed, c->skipped, c->unsettled
        };
        const uint64_t then[] = { before->done,   before->changed, before->mismatched, before->misowned,
                                  before->failed, before->skipped, before->unsettled };

        for (size_t i = 0; i < ELEMENTSOF(now); i++)
                if (now[i] > COUNT_MAX || now[i] < then[i])
                        return false;
        return true;
}

static void measure(Walk *w, uint64_t now) {
        uint64_t done = w->result.counts.done, elapsed = now - w->started_usec;

        w->entries_per_sec = elapsed > 0 ? done * USEC_PER_SEC / elapsed : 0;
        w->expected_end_usec = 0;
        if (w->total > done && w->entries_per_sec > 0)
                w->expected_end_usec = now_realtime_usec() + (w->total - done) * USEC_PER_SEC / w->entries_per_sec;
}

int walk_take_counts(Walk *w, const WalkCounts *counts, const uint64_t *total) {
        if (!counts_are_possible(&w->result.counts, counts) || (total && *total > COUNT_MAX))
                return -EBADMSG;
        w->result.counts = *counts;
        if (total && *total > 0)
                w->total = *total;
        if (!total)
                w->total = counts->done;
        /* It is an estimate, of inodes, and there are more names: how many is not known then. */
        else if (w->total < counts->done)
                w->total = 0;
        measure(w, now_monotonic_usec());
        return 0;
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

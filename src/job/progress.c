/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "job/progress.h"

/* More entries than any file system has, and few enough that no product below overflows. */
#define COUNT_MAX UINT64_C(10000000000000)

/* The counts are no snapshot, and an entry that others keep changing is changed more than once: none bounds another.
 * But none goes back. */
static bool counts_are_possible(const WalkCounts *before, const WalkCounts *c) {
        const uint64_t now[] = {
                c->done, c->changed, c->mismatched, c->misowned, c->failed, c->skipped, c->modified
        };
        const uint64_t then[] = { before->done,   before->changed, before->mismatched, before->misowned,
                                  before->failed, before->skipped, before->modified };

        for (size_t i = 0; i < ELEMENTSOF(now); i++)
                if (now[i] > COUNT_MAX || now[i] < then[i])
                        return false;
        return true;
}

static void measure(Progress *p, uint64_t now) {
        uint64_t done = p->counts.done, elapsed = now - p->started_usec;

        p->entries_per_sec = elapsed > 0 ? done * USEC_PER_SEC / elapsed : 0;
        p->expected_end_usec = 0;
        if (p->total > done && p->entries_per_sec > 0)
                p->expected_end_usec = now_realtime_usec() + (p->total - done) * USEC_PER_SEC / p->entries_per_sec;
}

int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) {
        uint64_t now = now_monotonic_usec();

        if (!counts_are_possible(&p->counts, counts) || total > COUNT_MAX)
                return -EBADMSG;
        if (p->started_usec == 0)
                p->started_usec = now;
        p->counts = *counts;
        if (total > 0)
                p->total = total;
        /* It is an estimate, of inodes, and there are more names: how many is not known then. */
        if (p->total < counts->done)
                p->total = 0;
        measure(p, now);
        return 0;
}

ProgressNews progress_next_news(Progress *p, uint64_t now) {
        const uint64_t start = USEC_PER_SEC, first = 10 * USEC_PER_SEC, longest = 600 * USEC_PER_SEC;
        uint64_t elapsed = now - p->started_usec;

        if (p->next_told_usec == 0) {
                if (elapsed < start)
                        return PROGRESS_NO_NEWS;
                p->next_told_usec = elapsed < first ? p->started_usec + first : now + elapsed;
                return PROGRESS_STARTED;
        }
        if (now < p->next_told_usec)
                return PROGRESS_NO_NEWS;
        p->next_told_usec = now + (elapsed < longest ? elapsed : longest);
        return PROGRESS_GOES_ON;
}

int progress_end(Progress *p, const WalkCounts *counts) {
        uint64_t now = now_monotonic_usec();

        if (!counts_are_possible(&p->counts, counts))
                return -EBADMSG;
        if (p->started_usec == 0)
                p->started_usec = now;
        p->duration_usec = now - p->started_usec;
        p->counts = *counts;
        p->total = counts->done;
        measure(p, now);
        return 0;
}

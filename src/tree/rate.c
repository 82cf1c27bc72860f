/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "tree/rate.h"

enum { SLICE_NSEC = 50000000 };

static void sleep_until(uint64_t nsec, Queue *q) {
        uint64_t now = clock_nsec(CLOCK_MONOTONIC);

        while (now < nsec && !queue_is_stopped(q)) {
                uint64_t wait = nsec - now;
                const struct timespec ts = { .tv_nsec = (long) (wait < SLICE_NSEC ? wait : SLICE_NSEC) };

                (void) nanosleep(&ts, NULL);
                now = clock_nsec(CLOCK_MONOTONIC);
        }
}

/* All threads share one clock that tells when the next entries may be visited; each takes entries for a slice of time
 * and waits until that has come. Time that was not used is not made up for. */
static uint64_t take_slice(Rate *r, Queue *q) {
        uint64_t rate = r->entries_per_sec, n = rate * SLICE_NSEC / NSEC_PER_SEC, now = clock_nsec(CLOCK_MONOTONIC),
                 length, turn, next;

        n = n == 0 ? 1 : n;
        length = n * NSEC_PER_SEC / rate;
        turn = atomic_load(&r->next_nsec);
        do
                next = (turn < now ? now : turn) + length;
        while (!atomic_compare_exchange_weak(&r->next_nsec, &turn, next));

        sleep_until(next - length, q);
        return n;
}

void rate_wait(Rate *r, Queue *q, uint64_t *granted) {
        if (r->entries_per_sec == 0)
                return;
        if (*granted == 0)
                *granted = take_slice(r, q);
        (*granted)--;
}

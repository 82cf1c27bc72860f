/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <time.h>

#include "basic/cleanup.h"

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC  UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_SEC  UINT64_C(1000000000)

static inline uint64_t timespec_nsec(const struct timespec *ts) {
        return (uint64_t) ts->tv_sec * NSEC_PER_SEC + (uint64_t) ts->tv_nsec;
}

static inline struct timespec timespec_of_nsec(uint64_t nsec) {
        return (struct timespec){ .tv_sec = (time_t) (nsec / NSEC_PER_SEC), .tv_nsec = (long) (nsec % NSEC_PER_SEC) };
}

static inline uint64_t clock_nsec(clockid_t clock) {
        struct timespec ts = { 0 };

        (void) clock_gettime(clock, &ts);
        return timespec_nsec(&ts);
}

/* Microseconds since the epoch. */
static inline uint64_t now_realtime_usec(void) {
        return clock_nsec(CLOCK_REALTIME) / NSEC_PER_USEC;
}

/* Microseconds on a clock that never goes back. */
static inline uint64_t now_monotonic_usec(void) {
        return clock_nsec(CLOCK_MONOTONIC) / NSEC_PER_USEC;
}

/* Reads a time such as "20s", "1min 30s" or "500ms", with the units of systemd.time(7) up to weeks; a bare
 * number is in seconds. Returns 0, -EINVAL, -ERANGE or -ENOMEM. */
int parse_timespan(const char *s, uint64_t *ret_usec) _warn_unused_;

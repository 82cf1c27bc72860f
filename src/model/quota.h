/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cleanup.h"
#include "model/limits.h"

/* How much of something there may be: in all, of one caller, and how much of it is kept for root. A caller
 * is a user, or of root a connection to the bus. A quota is counted anew whenever somebody wants more, from
 * the jobs, calls or questions of that moment: so nothing is given back, no count can be wrong, and counting
 * takes no memory. There is never so much of anything that it takes long. */

/* With their names in selvold(8). */
typedef enum LimitKind {
        LIMIT_JOBS,               /* jobs that run */
        LIMIT_JOBS_TO_UNMOUNT,    /* jobs that run, for one that unmounts */
        LIMIT_SOURCE,             /* jobs of one source that run */
        LIMIT_WAITING,            /* jobs that run or wait */
        LIMIT_WAITING_TO_UNMOUNT, /* jobs that run or wait, for one that unmounts */
        LIMIT_WAITERS,            /* calls that wait for one job */
        LIMIT_WAITERS_TO_CANCEL,  /* calls that wait for one job, for one that cancels */
        LIMIT_QUESTIONS,          /* questions to polkit */
        LIMIT_CALLS,              /* calls that wait for their turn */
        LIMIT_KINDS,
} LimitKind;

/* The amount that exists now. */
typedef struct Quota {
        size_t all;
        size_t caller; /* of all, that of the caller who wants more */
} Quota;

static inline void quota_count(Quota *q, size_t amount, bool of_caller) {
        q->all += amount;
        q->caller += of_caller ? amount : 0;
}

typedef enum QuotaResult {
        QUOTA_FITS,
        QUOTA_CALLER_IS_FULL,
        QUOTA_ALL_IS_FULL,
} QuotaResult;

/* Whether the caller, who is root if trusted, may have so much more. */
QuotaResult quota_check(const Quota *q, LimitKind kind, size_t amount, bool trusted) _pure_;

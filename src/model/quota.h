/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cleanup.h"
#include "model/limits.h"

/* Limits for all jobs, calls or questions, for those of one caller, and a part that only root can use. A
 * caller is a user, or, for root, a connection to the bus. Three users that take all they can leave room for
 * a fourth one, and for root. selvold counts the present jobs, calls or questions each time a caller wants
 * more: so no counter can be wrong, and counting allocates no memory. The numbers are small enough to count
 * fast. */

/* Each comment has the name of the limit in selvold(8). */
typedef enum LimitKind {
        LIMIT_JOBS,                     /* jobs that run */
        LIMIT_JOBS_TO_UNMOUNT,          /* jobs that run, for one that unmounts */
        LIMIT_SOURCE,                   /* jobs of one source that run */
        LIMIT_WAITING,                  /* jobs that run or wait */
        LIMIT_WAITING_TO_UNMOUNT,       /* jobs that run or wait, for one that unmounts */
        LIMIT_WAITING_BYTES,            /* bytes of jobs that run or wait */
        LIMIT_WAITING_BYTES_TO_UNMOUNT, /* bytes of jobs that run or wait, for one that unmounts */
        LIMIT_WAITERS,                  /* calls that wait for one job */
        LIMIT_WAITERS_TO_CANCEL,        /* calls that wait for one job, for one that cancels */
        LIMIT_CALLS_WAITING_BYTES,      /* bytes of calls that wait for jobs */
        LIMIT_QUESTIONS,                /* questions to polkit */
        LIMIT_HOLDERS,                  /* holders */
        LIMIT_RECORD_BYTES,             /* bytes of records */
        LIMIT_CALLS,                    /* calls that wait for their turn */
        LIMIT_KINDS,
} LimitKind;

/* The amount that exists now. */
typedef struct Quota {
        size_t all;
        size_t caller; /* the part of all that is the caller's */
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

/* Whether the caller may have amount more. trusted: the caller is root. */
QuotaResult quota_check(const Quota *q, LimitKind kind, size_t amount, bool trusted) _pure_;

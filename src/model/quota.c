/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>

#include "model/quota.h"

/* The limit for all; that for one user, and for a connection of root; and the part of the first for root. */
static const struct {
        size_t all, user, connection, reserved;
} limits[LIMIT_KINDS] = {
        [LIMIT_JOBS] = { JOBS_MAX, JOBS_OF_USER_MAX, JOBS_OF_CONNECTION_MAX, JOBS_RESERVED },
        [LIMIT_JOBS_TO_UNMOUNT] = { JOBS_MAX + JOBS_TO_UNMOUNT, UNMOUNTS_OF_USER_MAX, SIZE_MAX, UNMOUNTS_RESERVED },
        [LIMIT_SOURCE] = { JOBS_OF_SOURCE_MAX, JOBS_OF_SOURCE_OF_USER, SIZE_MAX, JOBS_OF_SOURCE_RESERVED },
        [LIMIT_WAITING] = { JOBS_WAITING_MAX, JOBS_WAITING_OF_USER_MAX, JOBS_WAITING_OF_CONNECTION,
                            JOBS_WAITING_RESERVED },
        [LIMIT_WAITING_TO_UNMOUNT] = { JOBS_WAITING_MAX + JOBS_WAITING_TO_UNMOUNT, UNMOUNTS_WAITING_OF_USER, SIZE_MAX,
                                       UNMOUNTS_WAITING_RESERVED },
        [LIMIT_WAITING_BYTES] = { JOBS_WAITING_MAX * JOB_BYTES, JOBS_WAITING_OF_USER_MAX *JOB_BYTES,
                                  JOBS_WAITING_OF_CONNECTION *JOB_BYTES, JOBS_WAITING_RESERVED *JOB_BYTES },
        [LIMIT_WAITING_BYTES_TO_UNMOUNT] = { (JOBS_WAITING_MAX + JOBS_WAITING_TO_UNMOUNT) * JOB_BYTES,
                                             UNMOUNTS_WAITING_OF_USER *JOB_BYTES, SIZE_MAX,
                                             UNMOUNTS_WAITING_RESERVED *JOB_BYTES },
        [LIMIT_WAITERS] = { WAITERS_MAX, WAITERS_OF_USER_MAX, SIZE_MAX, WAITERS_RESERVED },
        [LIMIT_WAITERS_TO_CANCEL] = { WAITERS_MAX + WAITERS_TO_CANCEL, WAITERS_OF_USER_MAX + WAITERS_TO_CANCEL / 4,
                                      SIZE_MAX, WAITERS_RESERVED },
        [LIMIT_CALLS_WAITING_BYTES] = { CALLS_WAITING_BYTES, CALLS_WAITING_BYTES_OF_USER, SIZE_MAX,
                                        CALLS_WAITING_BYTES_RESERVED },
        [LIMIT_QUESTIONS] = { QUESTIONS_MAX, QUESTIONS_OF_USER_MAX, SIZE_MAX, 0 },
        [LIMIT_HOLDERS] = { HOLDERS_ALL_MAX, HOLDERS_OF_USER, SIZE_MAX, HOLDERS_RESERVED },
        [LIMIT_RECORD_BYTES] = { RECORD_BYTES_MAX, RECORD_BYTES_OF_USER, SIZE_MAX, RECORD_BYTES_RESERVED },
        [LIMIT_CALLS] = { CALLS_PUT_OFF_MAX, CALLS_PUT_OFF_OF_CALLER, CALLS_PUT_OFF_OF_CALLER,
                          CALLS_PUT_OFF_RESERVED },
};

QuotaResult quota_check(const Quota *q, LimitKind kind, size_t amount, bool trusted) {
        const size_t all = limits[kind].all - (trusted ? 0 : limits[kind].reserved),
                     one = trusted ? limits[kind].connection : limits[kind].user;

        if (q->all + amount > all)
                return QUOTA_ALL_IS_FULL;
        return amount > one || q->caller > one - amount ? QUOTA_CALLER_IS_FULL : QUOTA_FITS;
}

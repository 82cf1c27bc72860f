/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

/* What test-allocations and the library that it preloads share: the file that this names. */
#define FAIL_ALLOCATION_FILE "SELVOL_TEST_FAIL_ALLOCATION"

typedef struct FailAllocation {
        atomic_int pid;      /* whose allocations are counted; 0: nobody's */
        atomic_uint count;   /* of them so far */
        atomic_uint fail_at; /* the one with this number fails, from 0 on */
} FailAllocation;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

/* This environment variable names the file that test-allocations shares with its preloaded library. */
#define FAIL_ALLOCATION_FILE "SELVOL_TEST_FAIL_ALLOCATION"

typedef struct FailAllocation {
        atomic_int pid;      /* the process whose allocations are counted; 0: none */
        atomic_uint count;   /* the number of allocations so far */
        atomic_uint fail_at; /* the number of the allocation that fails, from 0 on */
} FailAllocation;

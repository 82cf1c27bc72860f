/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* How a walk over all files of a volume went, as it is told. */

/* What one walk names at most. */
enum { WALK_ISSUES_MAX = 16, WALK_SUBMOUNTS_MAX = 64 };

typedef struct WalkCounts {
        uint64_t done;       /* entries visited, the root among them */
        uint64_t changed;    /* of them */
        uint64_t mismatched; /* labels that differ */
        uint64_t misowned;   /* groups or modes that differ */
        uint64_t failed;     /* errors, of whatever kind */
        uint64_t skipped;    /* hard links that may lead out of the volume, not changed; those that became links
                              * meanwhile count as one */
        uint64_t modified;   /* directories that were still being modified at the second look, so that entries that
                              * were moved may have been missed */
} WalkCounts;

/* An entry that could not be visited, or that differs. Both strings are printable, one line each. */
typedef struct WalkIssue {
        char *path; /* beneath the root, "." for the root, escaped; a very long one begins with an ellipsis */
        char *text;
        int error; /* positive errno; 0 for an entry that differs. selvold is told the text alone */
} WalkIssue;

typedef struct WalkResult {
        WalkCounts counts;
        WalkIssue *issues; /* the first ones */
        size_t n_issues;
        char **submounts; /* what is mounted inside and was not entered, escaped */
} WalkResult;

void walk_result_done(WalkResult *r);

/* "a, b: why; c: why; and 5 more": the issues by cause, about as many as are pleasant to read. The names
 * are those of tenants: whatever their length, the text is no longer than some 3 KB. NULL on lack of
 * memory. */
char *walk_describe_failures(const WalkResult *r) _warn_unused_;
/* Whether every entry was visited, and none failed. */
static inline bool walk_is_complete(const WalkCounts *c) {
        return c->failed == 0 && c->skipped == 0 && c->modified == 0;
}

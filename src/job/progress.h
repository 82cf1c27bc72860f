/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How far a walk has come, by the worker's account, which is checked: it is another process, and reads what others have
 * written. */

/* Of a walk that runs; total is 0 if unknown. Returns 0, or -EBADMSG if that can't be. */
int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) _warn_unused_;
/* Of one that has ended. */
int progress_end(Progress *p, const WalkCounts *counts) _warn_unused_;

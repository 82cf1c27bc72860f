/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How far a walk has come, by the worker's account, which is checked: it is another process, and reads what others have
 * written. */

/* Of a walk that runs; total is 0 if unknown. Returns 0, or -EBADMSG if that can't be. */
int progress_take(Progress *p, const WalkCounts *counts, uint64_t total) _warn_unused_;
/* What the journal is to be told of it now: that it has started once it has lasted a second, as most take none; that it goes on
 * after 10 s, and then each time that twice the time has passed, but once in ten minutes at least. */
typedef enum ProgressNews { PROGRESS_NO_NEWS, PROGRESS_STARTED, PROGRESS_GOES_ON } ProgressNews;
ProgressNews progress_next_news(Progress *p, uint64_t now);
/* Of one that has ended. */
int progress_end(Progress *p, const WalkCounts *counts) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/quota.h"
#include "job/job.h"

/* How many jobs may run, and how many may wait: in all, of one caller, and of one source, so that a server that hangs or a
 * caller with many jobs leaves room to others; and to unmount there is always some. */

/* The jobs that run at a time. */
typedef struct Places {
        const Job *running[JOBS_MAX + JOBS_TO_UNMOUNT];
        size_t n; /* of those whose child lingers there may be more than there is room for: that is full, too */
} Places;

void places_count(Places *p, const Jobs *jobs);
/* Whether there is a place for a job that waits. */
bool places_have_room(const Places *p, const Job *job);
void places_take(Places *p, const Job *job);

/* What may hang all at once, as far as it can be told by names: the server of a network file system, the directory of an
 * image, a device. To be freed; *ret is NULL if nothing can. Returns 0 or -ENOMEM. */
int places_source(const char *source, char **ret) _warn_unused_;

/* Whether one more job of the caller may come. Returns 0, LIMIT_REACHED or -ENOMEM. */
int places_admit(const Jobs *jobs, Operation operation, const Caller *caller, Failure *f) _warn_unused_;

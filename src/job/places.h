/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"
#include "model/limits.h"

/* How many jobs may run, and how many may wait: in all, of one caller, and of one source. So a server that
 * hangs, or a caller with many jobs, leaves room for others. Some places are reserved for unmounts. The
 * children of an earlier selvold take places like running jobs of an unknown caller. */

/* The running jobs. */
typedef struct Places {
        const Job *running[JOBS_MAX + JOBS_TO_UNMOUNT];
        /* May exceed the limit, because jobs whose child lingers are counted; then there is no room. */
        size_t n;
} Places;

void places_count(Places *p, const Jobs *jobs);
/* Whether a waiting job may run now. */
bool places_have_room(const Places *p, const Job *job);
void places_take(Places *p, const Job *job);

/* The part of a source that can hang as a whole, judged by its name: the server of a network file system, the
 * directory of an image, a device. The caller frees *ret, which is NULL if nothing can hang. Returns 0 or
 * -ENOMEM. */
int places_source(const char *source, char **ret) _warn_unused_;

/* Whether children of an earlier selvold keep a queued job from running. If so, logs that, or fails the job
 * with BUSY. */
bool places_log_orphans(Job *job);
bool places_fail_busy(Job *job);

/* Whether the caller may have one more job. Returns 0, LIMIT_REACHED or -ENOMEM. */
int places_admit(const Jobs *jobs, Operation operation, const Request *request, const Caller *caller,
                 Failure *f) _warn_unused_;

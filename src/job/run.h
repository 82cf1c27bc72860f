/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Starts the child of a job that can run, and takes its result. */
void job_run(Job *job);
/* Frees jobs that are over, then runs the queued jobs that can run. The event loop calls it after
 * queue_advance(), and so does the end of a child's connection: the caller's job may be gone afterwards. */
void jobs_advance(Jobs *jobs);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How a job runs: its child, the child's questions, and its end. */

/* Starts the child of a job whose turn it is. */
void job_run(Job *job);
/* Ends it, with a failure that the job has, as soon as possible: at once in line, otherwise when its child is gone. */
void job_stop(Job *job);
/* Ends a job without a child, with the result that it has. */
void job_conclude(Job *job);

/* How long the job may take, from now on. Returns 0 or a negative errno. */
int job_set_deadline(Job *job, uint64_t usec) _warn_unused_;

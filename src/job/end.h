/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How a job ends: its result is made durable, its callers are answered, and its claims end when its child is gone. */

/* Connects to the worker. When the connection ends before the reply has come, so does the job. Returns 0 or a negative
 * errno. */
int job_connect(Job *job) _warn_unused_;

/* Ends it, with a failure that the job has, as soon as possible: at once in line, otherwise when its child is gone. */
void job_stop(Job *job);
/* Ends a job that has published nothing, or whose child has said what came of it, with the result that it has. */
void job_conclude(Job *job);
/* The same, after what was recorded for it is undone. */
void job_conclude_failed(Job *job);
/* Undoes what was recorded for it. */
void job_revert(Job *job);

/* How long the job may take, from now on. Returns 0 or a negative errno. */
int job_set_deadline(Job *job, uint64_t usec) _warn_unused_;

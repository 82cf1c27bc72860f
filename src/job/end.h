/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How a job ends: its outcome is made durable, its callers are answered, and its claims end when its child
 * is gone. */

/* Answers those who wait for it so far. */
void job_answer(Job *job);
/* Answers those who wait for its end as well. */
void job_answer_all(Job *job);

/* Calls back once all that has changed is durable; if it can't be made so, a job that changes something has
 * failed then. */
void job_then(Job *job, void (*callback)(Job *job));

/* Takes note of the failure that it is refused with: that of PlanVolume is part of the answer. */
void job_refuse(Job *job);
/* Ends it, with a failure that the job has, as soon as possible: at once in line, otherwise when its child
 * is gone. */
void job_stop(Job *job);
/* Has it ended as soon as possible, with the result CANCELED. */
void job_cancel(Job *job, const char *by);
/* Cancels what keeps the mount busy that is to be unmounted. */
void job_cancel_verifies(const Job *unmount);
/* Cancels what stands before an unmount in line, and is for nothing once that has run. */
void job_cancel_undone(const Job *unmount);
/* Ends a job that has published nothing, or whose child has said what came of it, with the result that it
 * has. */
void job_conclude(Job *job);
/* The same, after what was recorded for it is undone. */
void job_conclude_failed(Job *job);
/* Undoes what was recorded for it. */
void job_revert(Job *job);
/* Gives up its claims: its child is gone. */
void job_release(Job *job);
/* Frees jobs that are over and too old, or too many, or that callers could never see; and sets the clock for
 * the next. */
void jobs_expire(Jobs *jobs);

/* The handler of job->timer. */
int job_on_timer(sd_event_source *source, uint64_t usec, void *userdata);

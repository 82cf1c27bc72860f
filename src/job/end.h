/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* How a job ends: selvold commits the outcome, replies to the callers, and releases the claims when the child
 * is gone. */

/* Replies to the callers that wait for the job's result. */
void job_answer(Job *job);
/* Also replies to the callers that wait for the job's end (Job.Wait, Job.Cancel). */
void job_answer_all(Job *job);

/* Calls back when all changes of the record are durable. If they can't be written, a job that changes
 * something has then failed. */
void job_then(Job *job, void (*callback)(Job *job));

/* Handles a refusal: PlanVolume returns the failure as part of its result; other jobs signal their
 * conflicts. */
void job_report_refusal(Job *job);
/* Ends a job whose failure is set, as soon as possible: at once if the job waits, otherwise when its child is
 * gone. */
void job_stop(Job *job);
/* Ends the job as soon as possible, with the result CANCELED. */
void job_cancel(Job *job, const char *by);
/* Cancels verify jobs that keep the unmount's target busy. */
void job_cancel_verifies(const Job *unmount);
/* Cancels jobs queued before the unmount that would be useless after it. */
void job_cancel_undone(const Job *unmount);
/* Cancels the job, whose walk begins, if an unmount that waits for it makes it useless. Returns whether it
 * does. */
bool job_cancel_walk(Job *job);
/* Ends a job with its present result. The job has published nothing, or its child has sent a result. */
void job_conclude(Job *job);
/* Like job_conclude(), after job_revert(). */
void job_conclude_failed(Job *job);
/* Undoes what the job recorded. */
void job_revert(Job *job);
/* Releases the claims of a job whose child is gone. */
void job_release(Job *job);
/* Frees jobs that are over and too old, or too many, or that callers never saw. Sets the timer for the
 * next. */
void jobs_expire(Jobs *jobs);

/* The callback of job->timer. */
int job_on_timer(sd_event_source *source, uint64_t usec, void *userdata);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* All jobs. */

int jobs_new(State *state, Jobs **ret) _warn_unused_;
/* Answers all that wait: selvold is stopping. What has begun is left as it is: the record says so, and the
 * next start compares it with the mount table. */
Jobs *jobs_free(Jobs *jobs);
DEFINE_CLEANUP_FUNC(Jobs *, jobs_free);

/* Starts a job for a call that has been authorized, or lets it join the one that does just this; reply is
 * called once with userdata, perhaps before this returns. The request and the caller are taken over. Of a
 * verify and a Relabel the request's context is the one expected or wanted, "" for the recorded one; of an
 * unmount the volume may be "", for whichever is at the target. Returns 0, -ENOMEM, or LIMIT_REACHED. */
int job_start(Jobs *jobs, Operation operation, Request *request, VerifyDepth depth, Caller *caller, JobReply reply,
              void *userdata, Failure *f) _warn_unused_;
/* The caller has gone. */
void job_forget_waiter(Jobs *jobs, const void *userdata);

/* Has reply called when the job has ended; at once if it has. cancels: it can be canceled however many
 * wait. Returns 0, -ENOMEM or LIMIT_REACHED. */
int job_follow(Job *job, const Caller *caller, bool cancels, JobReply reply, void *userdata,
               Failure *f) _warn_unused_;

/* A job that callers can see; NULL if there is none. */
Job *job_find(const Jobs *jobs, uint64_t id);
/* The one that works on a volume; NULL if there is none. */
Job *job_find_running(const Jobs *jobs, const char *volume);
/* One that may change the volume, and works on it or waits for it; NULL if there is none. */
const Job *job_find_on_volume(const Jobs *jobs, const char *volume);

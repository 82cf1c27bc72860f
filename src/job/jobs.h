/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

int jobs_new(State *state, Jobs **ret) _warn_unused_;
/* selvold is stopping: replies to all calls that wait. A started operation stays as recorded; the next start
 * compares the record with the mount table. */
Jobs *jobs_free(Jobs *jobs);
DEFINE_CLEANUP_FUNC(Jobs *, jobs_free);

/* Starts a job for an authorized call, or makes the call join an equal job. Calls reply once with userdata,
 * perhaps before this function returns. Takes over the contents of request and caller. For a verify and a
 * Relabel, the request's context is the expected or wanted one, "" for the recorded one. For an unmount, the
 * volume may be "": the volume at the target. Returns 0, -ENOMEM, LIMIT_REACHED, or INVALID_VOLUME for a new
 * volume whose id this caller may not introduce. */
int job_start(Jobs *jobs, Operation operation, Request *request, VerifyDepth depth, Caller *caller, JobReply reply,
              void *userdata, Failure *f) _warn_unused_;
/* Forgets a call whose caller is gone. */
void job_forget_waiter(Jobs *jobs, const void *userdata);

/* Calls reply when the job has ended; at once if it has ended already. cancels: the call cancels the job, and
 * has a limit of its own. Returns 0, -ENOMEM or LIMIT_REACHED. */
int job_follow(Job *job, const Caller *caller, bool cancels, JobReply reply, void *userdata,
               Failure *f) _warn_unused_;

/* The job with this id, if it is on the bus. NULL: none. */
Job *job_find(const Jobs *jobs, uint64_t id);
/* The job of the volume that is on the bus and has not ended. NULL: none. */
Job *job_find_running(const Jobs *jobs, const char *volume);

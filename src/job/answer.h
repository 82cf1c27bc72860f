/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* What callers see of a job, which must be on disk before they do. */

/* Sets the state, and tells of it. */
void job_set_state(Job *job, JobState state);
/* Makes it an object that callers can see. */
void job_show(Job *job);
/* Answers those who wait for it so far. */
void job_answer(Job *job);
/* Answers those who wait for its end. */
void job_answer_followers(Job *job);

/* Calls back once all that has changed is durable; if it can't be made so, a job that changes something has failed
 * then. */
void job_then(Job *job, void (*callback)(Job *job));

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* What the child of a job asks on its way, Plan, Walk and Ready, and what it tells. Each answer is given when what it
 * says is durable. */

/* From now on, over the job's connection. Returns 0 or a negative errno. */
int questions_answer(Job *job) _warn_unused_;

/* Undoes what was recorded for it, and lets it wait in line when its child is gone. */
void job_put_in_line(Job *job);
/* Takes note of the failure that it is refused with: that of PlanVolume is part of the answer. */
void job_refuse(Job *job);

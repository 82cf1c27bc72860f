/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Starts the child of a job whose turn it is, and takes its reply. */
void job_run(Job *job);
/* Runs the jobs in line whose turn it is, after those that are over were freed. The loop calls it after
 * line_advance(). */
void jobs_advance(Jobs *jobs);

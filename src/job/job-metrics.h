/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Counts a job that has ended. */
void job_count(const Job *job);

/* Updates the gauges and returns all metrics in Prometheus' text format, owned by the caller. NULL: out of
 * memory. */
char *jobs_render_metrics(const Jobs *jobs);

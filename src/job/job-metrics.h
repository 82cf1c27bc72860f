/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Counts a job that has ended. */
void job_count(const Job *job);

/* All metrics in Prometheus' text format, with the gauges brought up to date; NULL on lack of memory. Owned
 * by the caller. */
char *jobs_render_metrics(const Jobs *jobs);

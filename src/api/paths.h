/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Object paths, owned by the caller; NULL on lack of memory. */
char *volume_path(const char *id);
char *job_path(uint64_t id);

/* The volume, or the job, of a path; NULL if there is none. */
Volume *volume_of_path(const State *s, const char *path);
Job *job_of_path(const Jobs *jobs, const char *path);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The trace that a job leaves in the journal, which is the history that 'selvolctl history' shows. */

/* The record, or one more for the files, once the outcome is durable, or couldn't be made so. */
void job_log(const Job *job);
/* On its way: a walk has begun, or goes on; the job waits, for a reason that was not logged yet. */
void job_log_started(const Job *job);
void job_log_progress(const Job *job);
void job_log_waiting(Job *job, const char *why);

/* The mark says now that files may have no label on disk, or that all have one again. */
void job_log_taint(const Volume *v);

/* The mark on a volume claimed something wrong; not_reset says why it still does, "" if it doesn't. */
void job_log_mark_wrong(const Volume *v, MarkChange reset, const char *not_reset);

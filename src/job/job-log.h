/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The job's entries in the journal; 'selvolctl history' shows them. */

/* Logs a job that has ended, and separately the decision about its files. The outcome is durable then, or
 * could not be written. */
void job_log(const Job *job);
/* Entries before the end: a walk has begun; a walk goes on; the job waits, for a reason not yet logged. */
void job_log_started(const Job *job);
void job_log_progress(const Job *job);
void job_log_waiting(Job *job, const char *why);

/* The volume's record begins anew, for the file system that was found. */
void job_log_renewed(const Job *job, const Volume *v, const Identity *found);
/* The mark has changed: files may have no label on disk now, or all files have one again. context: of the
 * mount, or of the files on disk. */
void job_log_taint(const Volume *v, const char *context);

/* The mark on a volume was wrong. not_reset: why the worker could not reset the mark; "": it was reset. */
void job_log_mark_wrong(const Volume *v, MarkChange reset, const char *not_reset);

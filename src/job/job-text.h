/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* What a job does, or did, or why not, in words. All return a string of the caller's, or NULL on lack of memory. */

/* For the journal: sentences that name volume, target, holder and context, so that nobody has to look at fields. */
char *job_sentence(const Job *job) _warn_unused_;
/* What became of labels, or of the group, in an operation that did not fail because of them. */
char *job_relabel_sentence(const Job *job) _warn_unused_;
char *job_ownership_sentence(const Job *job) _warn_unused_;
/* Of a walk. */
char *job_start_sentence(const Job *job) _warn_unused_;
char *job_progress_sentence(const Job *job) _warn_unused_;
char *job_wait_sentence(const Job *job, const char *why) _warn_unused_;

/* Who is in front in line, for what names the volume of the job already; NULL: what an earlier selvold has left. progress goes with it. */
char *job_front_text(const Job *job, const Job *front, const char *progress) _warn_unused_;
/* That a job was in line for too long; front NULL: it had no place. */
char *job_busy_text(const Job *job, const Job *front) _warn_unused_;

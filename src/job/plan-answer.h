/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Makes the plan of a mount or an adoption from what was seen. Returns 0, a negative errno or why not; of a conflict
 * job->plan has the conflicts. */
int job_make_plan(Job *job, const PlanQuestion *q) _warn_unused_;
/* Keeps what is needed of the holder whose mount is shared: it may go while the job runs. Returns 0 or -ENOMEM. */
int job_keep_share(Job *job) _warn_unused_;

/* Fills the answer from job->plan. Returns 0 or -ENOMEM. */
int job_fill_answer(const Job *job, PlanAnswer *ret) _warn_unused_;
/* What the plan wants of the files. The context is job->plan's. */
FilesWanted job_files_wanted(const Job *job);

/* Whether a walk takes the files' group from somebody who relies on it; of these job->plan has the conflicts then. root: of the
 * mount, NULL if unknown. Returns 0, GROUP_CONFLICT or -ENOMEM. */
int job_check_reliances(Job *job, const FilesDecision *files, const char *root, const Reliance *list,
                        size_t n) _warn_unused_;

/* Takes over and checks what an operation ended with: as -EBADMSG what can't be; ENTRIES_FAILED if entries failed. The
 * copy of the mark in the record follows. */
int job_take_result(Job *job, sd_bus_message *reply) _warn_unused_;

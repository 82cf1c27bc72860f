/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The record of a job: which mount it will be, before anybody can see it; its plan, and its outcome. */

/* Whether the record has room for the volume, and a holder of it at the target. Returns 0, -ENOMEM or
 * LIMIT_REACHED. */
int job_check_limits(Job *job) _warn_unused_;
/* Whether no other volume is held at the target. Returns 0, -ENOMEM or INVALID_TARGET. */
int job_check_target(Job *job) _warn_unused_;
/* The holder of the job's volume at its target; NULL if there is none. */
Holder *job_find_holder(const Job *job);
/* Who has the target, of whichever volume, by the record: whether that is still so, the child sees. *ret is
 * untouched if nobody has; it may be NULL. */
Holder *job_find_at_target(const Job *job, Volume **ret);

/* Adds the volume, if it is new, and a holder that is being mounted, as the plan has it; both are in memory
 * only. The record of a volume that is known stays as it is until there is an outcome. Also if the same job
 * has planned anew. Returns 0 or -ENOMEM. */
int job_record_intent(Job *job, bool adopted) _warn_unused_;
/* Records the intent: the holder, with the identity of its mount and the groups that it swaps. Returns 0,
 * -EBADMSG or -ENOMEM. */
int job_record_ready(Job *job, const ReadyNote *note) _warn_unused_;
/* Records the outcome: the holder has the volume mounted. Returns 0; -EBADMSG if the holder has gone;
 * -ENOMEM. */
int job_record_outcome(Job *job) _warn_unused_;
/* Takes what the worker says of the mark; *mark is released. */
void job_record_mark(Job *job, Mark *mark);
/* Takes the intent back, and the volume too if it was there for this job only and its files were left
 * alone. */
void job_revert_intent(Job *job);

/* Makes the plan of a mount or an adoption from what was seen. Returns 0, a negative errno or why not; of a
 * conflict job->plan has the conflicts. */
int job_make_plan(Job *job, const PlanQuestion *q) _warn_unused_;
/* Keeps what is needed of the holder whose mount is shared: it may go while the job runs. Returns 0 or
 * -ENOMEM. */
int job_keep_share(Job *job) _warn_unused_;

/* Fills the answer from job->plan. Returns 0 or -ENOMEM. */
int job_fill_answer(const Job *job, PlanAnswer *ret) _warn_unused_;
/* The label and the group that the plan wants files to have. The context is job->plan's. */
FilesWanted job_files_wanted(const Job *job);

/* Whether a walk takes the files' group from somebody who relies on it; job->plan has these as conflicts
 * then. root: of the mount, NULL if unknown. *ret: all who rely on a group, to be released with
 * reliances_free(), also on failure. Returns 0, GROUP_CONFLICT or -ENOMEM. */
int job_check_reliances(Job *job, const FilesDecision *files, const char *root, Reliance **ret,
                        size_t *ret_n) _warn_unused_;

/* Takes over and checks what an operation ended with: as -EBADMSG what can't be; ENTRIES_FAILED if entries
 * failed. The copy of the mark in the record follows. */
int job_take_result(Job *job, sd_bus_message *reply) _warn_unused_;

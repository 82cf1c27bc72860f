/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The record of a job: the identity of its mount, written before the mount is visible; its plan; its
 * outcome. */

/* Checks that the record has room for the volume and for its holder at the target. Returns 0, -ENOMEM or
 * LIMIT_REACHED. */
int job_check_limits(Job *job) _warn_unused_;
/* Checks that no other volume has a holder at the target. Returns 0, -ENOMEM or INVALID_TARGET. */
int job_check_target(Job *job) _warn_unused_;
/* The holder of the job's volume at the job's target. NULL: none. */
Holder *job_find_holder(const Job *job);
/* The holder at the job's target, of any volume, by the record; the child checks whether it is still mounted.
 * *ret is untouched without a holder, and may be NULL. */
Holder *job_find_at_target(const Job *job, Volume **ret);

/* Adds the volume, if it is new, and a holder in state "mounting", as planned; both are in memory only. The
 * record of a known volume does not change before the outcome. A job that makes a second plan calls this
 * again. Returns 0, -ENOMEM or LIMIT_REACHED. */
int job_add_intent(Job *job, bool adopted) _warn_unused_;
/* Records the intent: the holder, the identity of its mount, and the groups that the mount swaps. Returns 0,
 * -EBADMSG or -ENOMEM. */
int job_record_ready(Job *job, const ReadyQuestion *question) _warn_unused_;
/* Records the outcome: the holder has the volume mounted. Returns 0; -EBADMSG if the holder is gone;
 * -ENOMEM. */
int job_record_outcome(Job *job) _warn_unused_;
/* The mark claims nothing any more that others may have made wrong, unless they still may write. */
void job_begin_walk(Job *job);
/* Copies the mark that the worker reports into the record. Releases *mark. */
void job_record_mark(Job *job, Mark *mark);
/* Takes the intent back. Also removes the volume's record if only this job needed it and no walk has
 * begun. */
void job_drop_intent(Job *job);

/* Makes the plan of a mount or an adopt from what the child observed. Returns 0, a negative errno or a
 * failure kind; after a conflict job->plan lists the conflicts. */
int job_make_plan(Job *job, const PlanQuestion *q) _warn_unused_;
/* Copies target and mount id of the holder whose mount is shared: that holder may go while the job runs.
 * Returns 0 or -ENOMEM. */
int job_keep_share(Job *job) _warn_unused_;

/* Fills the answer from job->plan. Returns 0 or -ENOMEM. */
int job_fill_answer(const Job *job, PlanAnswer *ret) _warn_unused_;
/* The job's knowledge of present and earlier mounts of the volume. */
MarkHistory job_mark_history(const Job *job);
/* The label and the group that files get by the plan. The context points into job->plan. */
FilesWanted job_files_wanted(const Job *job);

/* Whether the walk would take the files' group from a holder that relies on it; job->plan then lists these
 * holders as conflicts. root: the root of the mount in its file system, NULL if unknown. *ret: all holders
 * that rely on a group, also on failure; the caller releases it with reliances_free(). Returns 0,
 * GROUP_CONFLICT or -ENOMEM. */
int job_check_reliances(Job *job, const FilesDecision *files, const char *root, Reliance **ret,
                        size_t *ret_n) _warn_unused_;

/* Takes over and checks the result of an operation, and copies its mark into the record. Returns 0; -EBADMSG
 * if the result is impossible; ENTRIES_FAILED if entries failed; another negative errno. */
int job_take_result(Job *job, sd_bus_message *reply) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The queues in which jobs wait: for a volume, a target or a superblock that another job has claimed, or for
 * the end of a conflict. A waiting job has no child. */

/* Queues the claimant for a volume and a target; NULL or "": for none. Returns 0 or -ENOMEM. */
int queue_enter(State *s, Claimant *c, const char *volume, const char *target) _warn_unused_;
/* Whether somebody works on the volume: a job, or a child of an earlier selvold. */
bool queue_has_claimed(const State *s, const char *volume);
/* Queues the job for the superblock that its child saw (NULL: none that can be shared). Returns 1 if the job
 * now has the claim, 0 if the job has to wait in the queue, or -ENOMEM. */
int queue_claim_superblock(Job *job, const char *key) _warn_unused_;

/* Whether a refused job may wait, by WaitUSec, for the conflicts in its plan to end. Sets the deadline of
 * that wait. */
bool queue_may_wait(Job *job);
/* Adds to the failure of a job with a conflict that WaitUSec is over. */
void queue_tell_wait(Job *job);
/* A holder has gone, or a foreign mount (target NULL): jobs that now wait for no other conflict go on. */
void queue_mount_gone(Jobs *jobs, const char *target);
/* Drops the foreign conflicts of a job if a foreign mount has gone since its child was called: the child may
 * have looked before that, so the next one looks again. */
void queue_check_look(Job *job);

/* The child of a job that has to wait is gone: the job waits in the queue, or for its conflict. */
void queue_return(Job *job);
/* Gives up the claims that a waiting job must not keep while it waits. */
void queue_let_past(Job *job);
/* Whether the job can run now; then it owns its claims. */
bool queue_is_turn(Job *job);
/* Makes the event loop run the jobs that can run. Not at once: jobs_advance() frees jobs that the caller may
 * still use. */
void queue_advance(Jobs *jobs);

/* Whether the job waits for the end of a conflict. */
bool queue_waits_for_conflict(const Job *job);
/* The job that has what this one waits for. NULL: none, or the job waits for a place to run. */
const Job *queue_get_front(const Job *job);
/* Shows a waiting job on the bus and logs the reason, unless the job only waits for another job's child to
 * exit. */
void queue_show(Job *job);
/* Logs what a queued job waits for, once that has taken long. */
void queue_log_long_wait(Job *job);
/* Sets BUSY, with the name of the blocking job, when the time to wait is over. */
void queue_fail_busy(Job *job);

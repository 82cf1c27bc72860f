/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"
#include "model/quota.h"

/* The lines in which jobs wait: for a volume, a target or a superblock that another job has, or for a
 * conflict to end. A wait costs no child. */

/* Takes places for a volume and a target; NULL or "": for none. Returns 0 or -ENOMEM. */
int line_enter(State *s, Claimant *c, const char *volume, const char *target) _warn_unused_;
/* The superblock that the child saw (NULL: none that can be shared). Returns 1 if it is the job's, 0 if it
 * has to wait for it, in which place it is now, or -ENOMEM. */
int line_claim_superblock(Job *job, const char *key) _warn_unused_;

/* Whether a job that was refused for a conflict, with the plan naming it, may and does wait for that to end
 * (WaitUSec). */
bool line_wait_for_conflict(Job *job);
/* A holder has gone, or a mount that is no holder's (target NULL): those who wait for nobody else any more
 * go on. */
void line_mount_gone(Jobs *jobs, const char *target);

/* The child of a job that was told to wait is gone: the job is in line, or parked. */
void line_take_place(Job *job);
/* Others can have what a job in line or parked is not to keep meanwhile. */
void line_let_past(Job *job);
/* Whether it is this job's turn; then the claims are its own. */
bool line_is_turn(Job *job);
/* Has the loop run the jobs whose turn it is, soon: callers may have a job at hand that is freed then. */
void line_advance(Jobs *jobs);

/* Whether it waits for a conflict to end, which its plan names. */
bool line_waits_for_conflict(const Job *job);
/* The job that has what this one waits in line for; NULL: none, or it waits for a place to run. */
const Job *line_get_front(const Job *job);
/* Of a job that waits: callers can see it, and the journal says what it waits for, unless that is only the
 * end of a child that has done its work. */
void line_show(Job *job);
/* Tells the journal what a job waits in line for, if that has taken long. */
void line_log_long_wait(Job *job);
/* Sets BUSY, naming who is in front, of a job whose time in line is over. */
void line_fail_busy(Job *job);

/* How many jobs may run, and how many may wait: in all, of one caller, and of one source, so that a server
 * that hangs or a caller with many jobs leaves room to others; and to unmount there is always some. */

/* The jobs that run at a time. */
typedef struct Places {
        const Job *running[JOBS_MAX + JOBS_TO_UNMOUNT];
        size_t n; /* of those whose child lingers there may be more than there is room for: that is full, too */
} Places;

void places_count(Places *p, const Jobs *jobs);
/* Whether there is a place for a job that waits. */
bool places_have_room(const Places *p, const Job *job);
void places_take(Places *p, const Job *job);

/* The part of a source that can hang as a whole, as far as names tell: the server of a network file system,
 * the directory of an image, a device. The caller frees *ret, which is NULL if nothing can hang. Returns 0
 * or -ENOMEM. */
int places_source(const char *source, char **ret) _warn_unused_;

/* Whether one more job of the caller may come. Returns 0, LIMIT_REACHED or -ENOMEM. */
int places_admit(const Jobs *jobs, Operation operation, const Caller *caller, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Children of the worker that are at work for a selvold that is gone: one in move_mount(2) can't be killed,
 * and publishes its mount after the next selvold has compared the record with the mount table. Each keeps
 * its volume and its target claimed until a look at the mount table doesn't name it any more. */

/* Takes the children that a look at the mount table names, and lets go what those had who are not among them.
 * Returns 0 or a negative errno. */
int orphans_take(Jobs *jobs, const OrphanNote *notes, size_t n) _warn_unused_;

/* Fails a job that waits in line behind one of them with BUSY, and says so. Returns whether it does. */
bool orphans_fail_busy(Job *job);

void orphans_free(Jobs *jobs);

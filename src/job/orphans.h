/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"
#include "wire/protocol.h"

/* The worker's children that still run for an earlier selvold. A child in move_mount(2) can't be killed, and
 * publishes its mount after the next selvold has compared the record with the mount table. Each child keeps
 * its volume and its target claimed until the watch's look at the mount table no longer lists the child,
 * unless the child only plans or verifies. Each has a connection of the worker, so all of them count as jobs
 * that run (job/places.h). */

typedef struct Orphan Orphan;
struct Orphan {
        Orphan *prev, *next;
        Jobs *jobs;
        pid_t pid;
        char *operation, *volume, *target;
        char *source; /* of the job, places_source(); "": none */
        Claimant claims;
        bool listed; /* by the last look */
};

static inline bool orphan_unmounts(const Orphan *o) {
        return streq(o->operation, WORKER_UNMOUNT);
}

/* Takes the children that the watch's look lists; releases the claims of the others. Returns 0 or a negative
 * errno. */
int orphans_take(Jobs *jobs, const OrphanInfo *list, size_t n) _warn_unused_;

/* Fails a queued job with BUSY if a child of an earlier selvold blocks it. Returns whether one does. */
bool orphans_fail_busy(Job *job);

void orphans_free(Jobs *jobs);

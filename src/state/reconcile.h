/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* The record and the mount table: what becomes of holders without a job, and of mounts without a record. */

/* Brings the record in line with the kernel, which is the truth: every holder is confirmed, an interrupted
 * mount or unmount is finished or rolled back, a holder whose mount is gone is released. Targets that a job
 * has claimed are left to it. Returns 0 or -ENOMEM. */
int reconcile(State *s, const MountFact *facts, size_t n_facts) _warn_unused_;
/* The same for one holder and the mount with its id (NULL: there is none). May free the holder. */
void reconcile_holder(State *s, Volume *v, Holder *h, const MountFact *fact);

/* After a reboot nobody holds anything; labels and taints stay. */
void reconcile_reboot(State *s);

/* The key of a claim on a target; NULL on lack of memory. */
char *target_claim_key(const char *target) _warn_unused_;
/* Whether a job is at work there. */
bool target_is_claimed(const State *s, const char *target);

/* Removes a holder whose mount is gone, and tells of it. Invalidates h. */
void holder_drop(State *s, Volume *v, Holder *h);
/* The same for a mount that somebody else unmounted, or moved to another directory: moved_to, NULL if not. */
void holder_lose(State *s, Volume *v, Holder *h, const char *moved_to);

/* Mounts that the worker has made or adopted as volumes in this boot and that no holder is recorded for:
 * the record was lost. They are shown, and can be unmounted or adopted. */
struct Unrecorded {
        UT_hash_handle hh;
        char *volume;
        char *target; /* the key */
        char *device; /* of the superblock, "major:minor" */
        uint64_t mount_id;
};

/* Finds them in a look at all mounts, after holders were compared with it, and tells of those that were not
 * known yet. Returns 0 or -ENOMEM. */
int unrecorded_take(State *s, const MountFact *facts, size_t n_facts) _warn_unused_;

/* The one at the target; NULL: there is none. */
const Unrecorded *unrecorded_find(const State *s, const char *target);

/* One with the id has gone or is recorded again, if there was one. */
void unrecorded_drop(State *s, uint64_t mount_id);

void unrecorded_free(State *s);

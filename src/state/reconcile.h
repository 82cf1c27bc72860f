/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Compares the record with the mount table: holders without a job, and mounts without a record. */

/* Corrects the record by the worker's look at the mount table. Every holder is confirmed; an interrupted
 * mount or unmount is finished or rolled back; a holder whose mount is gone is released. Holders at a target
 * that a job has claimed are left to that job. first: the first look since selvold's start: selvol has
 * unmounted a mount of which there is no note any more, and an earlier selvold has not recorded that. Returns
 * 0 or -ENOMEM. */
int reconcile(State *s, const Watched *w, bool first) _warn_unused_;
/* Like reconcile(), for one holder and the mount with its id (NULL: none). May free the holder. */
void reconcile_holder(State *s, Volume *v, Holder *h, const MountFact *fact);

/* Records, also while a job works at the target, that others could write to the holder's file system: through
 * a mount of theirs, or because they made the holder's mount writable. All volumes on it lose their
 * fingerprints, and their marks are not trusted until a walk; with a context they are tainted. */
void holder_notice_others(State *s, Holder *h, const MountFact *fact);

/* Releases all holders after a reboot; labels and taints stay. */
void reconcile_reboot(State *s);

/* The key of a claim on a target. NULL: out of memory. */
char *target_claim_key(const char *target) _warn_unused_;
/* Whether a job works at the target. */
bool target_is_claimed(const State *s, const char *target);

/* Removes a holder whose mount is gone, and emits events. Invalidates h. */
void holder_drop(State *s, Volume *v, Holder *h);
/* Like holder_drop(), for a holder that never had the volume mounted: only others are told. */
void holder_drop_intent(State *s, Volume *v, Holder *h);
/* Like holder_drop(), for a mount that another program unmounted, moved, or took the note of; fact: the mount
 * that has the holder's id now. It is a loss unless there is none and the holder expects so
 * (release_on_umount). */
void holder_lose(State *s, Volume *v, Holder *h, const MountFact *fact);

/* A mount without a holder. The worker has made or adopted it as a volume in this boot, and its record was
 * lost; or, among State.foreign, another program has mounted a device. Callers can adopt both, and unmount
 * the former. */
struct Unrecorded {
        UT_hash_handle hh;
        char *volume; /* "": a mount of another program */
        char *target; /* the hash key */
        char *source, *fs_type, *context;
        char *device; /* of the superblock, "major:minor" */
        uint64_t mount_id;
};

/* Finds both kinds of mounts in a look at all mounts, and logs the new ones whose record was lost. Call it
 * after reconcile(). Returns 0 or -ENOMEM. */
int unrecorded_take(State *s, const MountFact *facts, size_t n_facts) _warn_unused_;

/* Takes a mount that came: adds it if another program has made it. Returns 0 or -ENOMEM. */
int unrecorded_came(State *s, const MountFact *fact) _warn_unused_;

/* The unrecorded mount at the target, none of another program. NULL: none. */
const Unrecorded *unrecorded_find(const State *s, const char *target);

/* Drops a mount that is gone, or recorded. Does nothing if there is none. */
void unrecorded_drop(State *s, uint64_t mount_id);

void unrecorded_free(State *s);

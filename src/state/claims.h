/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "basic/cleanup.h"

/* Claims: a job's right to a volume, a target and a superblock.
 *
 * Two operations on one volume, at one target or on one superblock would undo each other's work, or see half
 * of it. So a job acts only while it owns the keys of everything that it changes. A key has at most one
 * owner, and a queue of all claimants that want the key, in order of arrival; the owner is in the queue too.
 *
 * No claimant starves: the first in a queue blocks the others even if it can't get all of its keys yet. Only
 * a passive claimant, which waits for something else first, lets others pass, and stays queued.
 *
 * No claimants block each other in a circle: a claimant gets volume and target together or not at all. It
 * claims the superblock later, while it owns both, because selvold does not know the superblock before the
 * worker's child has looked at the source. The owner of a superblock claims nothing more.
 *
 * A job keeps its claims until its child is gone, and with the child everything that the child has staged.
 * Claims are in memory only: they end with selvold, but children of the worker may outlive selvold. The
 * worker lists such children to the next selvold, which claims their volumes and targets before it compares
 * holders with the mount table (job/orphans.h). */

enum { CLAIMS_MAX = 3 }; /* keys of one claimant */

typedef struct Claim Claim;
typedef struct Claimant Claimant;

typedef struct ClaimEntry {
        struct ClaimEntry *prev, *next; /* in the claim's queue */
        Claim *claim;
        Claimant *claimant;
} ClaimEntry;

/* The owner initializes it with zeros, and keeps it until claims_leave(). */
struct Claimant {
        uint64_t number; /* in all of its queues; 0: in none */
        bool passive;    /* stays queued, but lets others pass: it waits for something else first */
        ClaimEntry entries[CLAIMS_MAX];
        size_t n_entries;
};

typedef struct Claims {
        Claim *table;
        uint64_t last_number;
} Claims;

/* Adds the claimant at the end of the queues of the keys that are not NULL. Returns 0 or -ENOMEM. */
int claims_enter(Claims *claims, Claimant *c, const char *const *keys, size_t n) _warn_unused_;
/* Adds the claimant to one more queue, with the number that it has. Returns 0 or -ENOMEM. */
int claims_add(Claims *claims, Claimant *c, const char *key) _warn_unused_;
/* Takes all keys of the claimant if it can have all of them. Returns whether it owns them now. */
bool claims_take(Claimant *c);
/* Gives up the ownership of the keys, but stays queued. */
void claims_yield(Claimant *c);
/* Leaves the queue of the key that was added last. */
void claims_drop_last(Claims *claims, Claimant *c);
/* Leaves all queues. */
void claims_leave(Claims *claims, Claimant *c);

/* The key that was added last. NULL: the claimant has at most n keys. */
const char *claims_last_key(const Claimant *c, size_t n);
/* The claimant that owns one of c's keys, or comes before c in a queue. NULL: none. */
Claimant *claims_find_blocker(const Claimant *c);
bool claims_is_owned(const Claims *claims, const char *key);

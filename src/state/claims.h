/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "basic/cleanup.h"

/* Claims: a job's right to a volume, a target and a superblock.
 *
 * Two operations on one volume, at one target or on one superblock would undo what the other one does, or
 * look at what it has half done. So a job acts only while it owns the keys of all that it touches. A key has
 * one owner at most, and a line of all that want it, in the order in which they came, with the owner in it.
 *
 * Everybody's turn comes: whoever is first in a line, but can't have all its keys yet, lets nobody past. Only
 * a passive claimant does, which waits for something else first, and keeps its place.
 *
 * Nobody waits in a circle: volume and target become a claimant's own together or not at all. The superblock,
 * which is not known before the worker's child has looked at the source, is claimed while these are owned; a
 * claimant that owns it claims nothing more.
 *
 * A job keeps its claims until its child is gone, and with it all that the child had staged. Claims are in
 * memory only: they end with selvold, but children of the worker may outlive it. The worker names these to
 * the next selvold, which claims their volumes and targets before it compares holders with the mount table
 * (job/orphans.h). */

enum { CLAIMS_MAX = 3 }; /* of one claimant */

typedef struct Claim Claim;
typedef struct Claimant Claimant;

typedef struct ClaimEntry {
        struct ClaimEntry *prev, *next; /* in the claim's line */
        Claim *claim;
        Claimant *claimant;
} ClaimEntry;

/* Zero-initialized by its owner, which keeps it until claims_leave(). */
struct Claimant {
        uint64_t place; /* in line; 0: not in line */
        bool passive;   /* keeps its place, and lets others past: it waits for something else first */
        ClaimEntry entries[CLAIMS_MAX];
        size_t n_entries;
};

/* All claims, by key. */
typedef struct Claims {
        Claim *table;
        uint64_t last_place;
} Claims;

/* Takes a place at the end of the lines of the keys, those that are empty left out. Returns 0 or -ENOMEM. */
int claims_enter(Claims *claims, Claimant *c, const char *const *keys, size_t n) _warn_unused_;
/* Takes a place in one more line, that of its first place. */
int claims_add(Claims *claims, Claimant *c, const char *key) _warn_unused_;
/* Whether it owns, or now got, all keys that it is in line for. */
bool claims_take(Claimant *c);
/* Gives up what it owns, and keeps its places. */
void claims_yield(Claimant *c);
/* Leaves the line of the key that was added last. */
void claims_drop_last(Claims *claims, Claimant *c);
/* Leaves all lines. */
void claims_leave(Claims *claims, Claimant *c);

/* The key that was added last; NULL if there is none beyond the first n. */
const char *claims_last_key(const Claimant *c, size_t n);
/* Whoever owns one of its keys, or is before it in line. NULL if nobody is. */
Claimant *claims_find_blocker(const Claimant *c);
/* Whether somebody owns the key. */
bool claims_is_owned(const Claims *claims, const char *key);

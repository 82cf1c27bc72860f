/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/tree.h"
#include "worker/child.h"

/* How a walk is to treat its neighbours, as the wire has it. */
typedef struct WalkLimits {
        uint32_t threads;         /* more than there may be: as many as there may be */
        uint64_t entries_per_sec; /* likewise */
        int idle;                 /* boolean; of the whole process while it walks */
} WalkLimits;

/* Tells selvold that a walk is about to begin, before what may take long and can't be told about. CANCELED if it has
 * hung up. */
int walk_tell_start(Child *child, uint64_t total, Failure *f) _warn_unused_;

/* Walks as spec says, within the limits; selvold is told how far it is. total is how many entries there are, 0 if
 * that isn't known. Returns as tree_walk(), and CANCELED if selvold has hung up. */
int walk_tree(Child *child, TreeSpec *spec, const WalkLimits *limits, uint64_t total, TreeResult *ret,
              Failure *f) _warn_unused_;

/* Counts the entries beneath a directory, as a total for a walk. */
int walk_count(Child *child, const TreeSpec *spec, const WalkLimits *limits, uint64_t *ret, Failure *f) _warn_unused_;

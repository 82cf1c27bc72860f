/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/files.h"
#include "wire/messages.h"
#include "worker/child.h"

/* Walks over the files beneath a directory; selvold is told how far they are. Here alone the engine is called. All return
 * 0, also if entries failed; a negative errno, of it -ECANCELED if selvold has hung up; or a failure kind. */
typedef struct WalkSpec {
        int root;                   /* open for reading, on a mount in which nothing else is mounted */
        const char *context;        /* wanted; NULL: labels don't matter */
        const Ownership *ownership; /* wanted; NULL: groups don't matter */
        bool blind;                 /* all are known to have another label */
        bool contended;             /* others may rename entries meanwhile */
        bool part;                  /* the root is a directory of a larger file system */
        uint64_t entries_per_sec;   /* at most; 0: no limit */
        uint64_t total;             /* entries that there are; 0: unknown */
} WalkSpec;

/* Tells selvold that a walk is about to begin, before what may take long and can't be told about. */
int walk_tell_start(Child *c, uint64_t total) _warn_unused_;

/* Counts the entries, as a total for the walk itself. */
int walk_count(Child *c, const WalkSpec *spec, uint64_t *ret, Failure *f) _warn_unused_;

/* Gives what differs what is wanted. */
int walk_change(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

/* Compares all entries. */
int walk_verify(Child *c, const WalkSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

/* Compares the first entries before a mount swaps their group: what others have given to other groups since would stay
 * unreachable. The time this takes does not grow with the volume. *ret is what differs, in words, for the caller to free; NULL if nothing does. */
int walk_compare(Child *c, const WalkSpec *spec, char **ret, Failure *f) _warn_unused_;

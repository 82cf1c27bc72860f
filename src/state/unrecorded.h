/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Mounts that the worker has made or adopted as volumes in this boot and that no holder is recorded for: the record was lost.
 * They are shown, and can be unmounted or adopted. */
struct Unrecorded {
        UT_hash_handle hh;
        char *volume;
        char *target; /* the key */
        char *device; /* of the superblock, "major:minor" */
        uint64_t mount_id;
};

/* Finds them in a look at all mounts, after holders were compared with it, and tells of those that were not known yet.
 * Returns 0 or -ENOMEM. */
int unrecorded_take(State *s, const MountFact *facts, size_t n_facts) _warn_unused_;

/* The one at the target; NULL: there is none. */
const Unrecorded *unrecorded_find(const State *s, const char *target);

/* One with the id has gone or is recorded again, if there was one. */
void unrecorded_drop(State *s, uint64_t mount_id);

void unrecorded_free(State *s);

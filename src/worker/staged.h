/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/target.h"
#include "worker/child.h"
#include "worker/mount-call.h"
#include "worker/mounted.h"

/* A mount that has been made and proved, and that nobody else sees until it is published. It goes with the process.
 */
typedef struct Staged {
        int tree;
        Target target; /* pinned; of no path if there is none */
        Mounted mounted;
        char *context; /* that it was mounted with, "" if none */
        bool part;     /* its root is a directory of a larger file system */
} Staged;

Staged *staged_free(Staged *s);
DEFINE_CLEANUP_FUNC(Staged *, staged_free);

/* Returns 0, a negative errno, after which the process may be in the wrong namespace and must end, or a failure kind.
 */
int staged_make(const Child *child, const MountCall *c, Staged **ret, Failure *f) _warn_unused_;

/* Applies the effect to the volume's record and attaches the mount to the target; start is when the caller began, for
 * the journal. Then s->mounted is what there is to tell, and no descriptor is left that would keep the mount busy.
 * Returns 0, a negative errno, or a failure kind, after which it may be tried again. */
int staged_publish(Child *child, Staged *s, RecordEffect effect, uint64_t start, Failure *f) _warn_unused_;

/* A mistake of the caller's: what it wants needs something that is staged, or nothing. */
int staged_check(const Child *child, bool wanted, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/clone.h"
#include "mount/target.h"
#include "worker/child.h"

/* What a verb works on: the mount that this connection has staged, or one that is there for everybody, of which a
 * private copy is used. */
typedef struct Subject {
        Target target;        /* keeps the mount, so that it can't be unmounted meanwhile; of no path if staged */
        Clone clone;          /* of a mount that is there for everybody */
        int root;             /* open for reading */
        MountOutcome outcome; /* without root_context */
        bool part;            /* the root is a directory of a larger file system */
        char **mounts_inside;
} Subject;

#define SUBJECT_INIT ((Subject){ .target = TARGET_INIT, .clone = CLONE_INIT, .root = -EBADF })

/* To be called before the verb replies, as whoever gets the reply may unmount at once. */
void subject_done(Subject *s);

/* Opens the mount at target, if it is the one with the id, or, with target "", what is staged. Returns 0, a negative
 * errno, BUSY, or NOT_SUPPORTED. */
int subject_open(const Child *child, const char *target, uint64_t mount_id, CloneMode mode, Subject *ret,
                 Failure *f) _warn_unused_;

/* Copies the mount that an open target is on, from the target downwards. NOT_SUPPORTED if that can't be done. */
int subject_clone(const Target *target, CloneMode mode, Clone *ret, Failure *f) _warn_unused_;

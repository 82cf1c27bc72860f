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
        int root;             /* open for reading; of the clone, or of what is staged */
        MountOutcome outcome; /* without root_context */
        bool part;            /* the root is a directory of a larger file system */
        bool contended;       /* others have it mounted */
        char **mounts_inside;
} Subject;

#define SUBJECT_INIT ((Subject){ .target = TARGET_INIT, .clone = CLONE_INIT, .root = -EBADF })

/* To be called before the verb replies, as whoever gets the reply may unmount at once. */
void subject_done(Subject *s);

/* Opens the mount at target, if it is the one with the id, or, with target "", what is staged. Returns 0, a negative
 * errno, BUSY, or NOT_SUPPORTED. */
int subject_open(const Child *child, const char *target, uint64_t mount_id, CloneMode mode, Subject *ret,
                 Failure *f) _warn_unused_;

/* Checks that files may be changed there: the file system's type is one of the configuration's, and it is not the
 * host's own. Returns 0, a negative errno, TYPE_NOT_ALLOWED or PATH_NOT_ALLOWED. */
int subject_check(const Child *child, const Subject *s, Failure *f) _warn_unused_;

/* Checks that it is the volume's alone: all mounts of the file system are beneath the target roots. That tells a disk
 * of the host's that no list knows, a directory of which is mounted as a volume; the global mounts of CSI drivers are
 * in kubelet's directory. Returns 0, a negative errno or PATH_NOT_ALLOWED. */
int subject_check_elsewhere(const Child *child, const Subject *s, Failure *f) _warn_unused_;

/* Fails with NOT_SUPPORTED if an option of the mount makes files show labels that are not on disk. */
int subject_check_overridden(bool overrides_labels, Failure *f) _warn_unused_;

/* Copies the mount that an open target is on, from the target downwards. NOT_SUPPORTED if that can't be done. */
int subject_clone(const Target *target, CloneMode mode, Clone *ret, Failure *f) _warn_unused_;

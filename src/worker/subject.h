/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/detached.h"
#include "model/files.h"
#include "worker/child.h"

/* The private mount: an operation works on a mount that nobody else sees.
 *
 * A mount that everybody sees can be entered before its label is verified, and while its files are changed;
 * other mounts may lie in it, and paths in it may be exchanged meanwhile. So all that is looked at or changed
 * is reached from the root of a mount that is in no mount namespace, and has no path:
 *
 *   - A staged mount is made for the operation (subject_stage()). operation_mount() attaches it to the
 *     target, publish_mount(), when its label is verified, its files and its mark are right, it is noted
 *     (mount/mount-note.h), and its identity is on selvold's record (ask_ready()). If anything fails before,
 *     nobody has ever seen it. operation_change() never attaches it.
 *   - A live subject is a copy of a mount that is there for everybody (subject_copy()): without the mounts
 *     inside, so a walk neither enters them nor misses what they cover. Others see the same files, so it is
 *     never idmapped.
 *
 * The kernel takes a mount that is attached nowhere down with its last descriptor. So if the child is killed,
 * at whatever moment, no staged mount and no copy stays; a mount that was attached stays, and so does its
 * note. Changes of files stay, and the mark claims no more than is true of them (label/mark-xattr.h). Helpers
 * such as mount.nfs may outlive the child: the server ends them before it ends the connection. */
typedef struct Subject {
        int tree;         /* the mount, detached */
        int root;         /* of it, open for reading */
        bool live;        /* a copy: others see the same files */
        bool part;        /* the root is a directory of a larger file system */
        bool contended;   /* others have the file system mounted; known once a change was checked */
        char **submounts; /* of the mount that was copied, beneath its root; likewise */
} Subject;

#define SUBJECT_INIT ((Subject){ .tree = -EBADF, .root = -EBADF })

/* To be called before the operation replies, as whoever gets the reply may unmount at once. */
void subject_done(Subject *s);

/* Copies the mount that an open target is on. Returns 0, a negative errno, or NOT_SUPPORTED. */
int subject_copy(const Target *target, CloneMode mode, Subject *ret, Failure *f) _warn_unused_;

/* Mounts the source as selvold's answer wants it, where nobody sees it, once more if a mount is to be shared.
 * question is what the answer answers. The outcome is what the kernel makes of it, without what the root
 * shows. Returns 0, a negative errno, after which the process may be in the wrong namespace and must end, or
 * a failure kind. */
int subject_stage(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  Subject *ret, MountOutcome *ret_outcome, Failure *f) _warn_unused_;

/* Checks that something may be written to the root of what the outcome describes: the type of the file
 * system is one of the configuration's, and it is not the host's own. Returns 0, a negative errno,
 * TYPE_NOT_ALLOWED or PATH_NOT_ALLOWED. */
int subject_check(const Child *c, const Subject *s, const MountOutcome *o, Failure *f) _warn_unused_;

/* Checks all that has to be right before the first file is touched, and completes the subject. Returns as
 * the one above and foreign_check(), and NOT_SUPPORTED: what the mount shows isn't what is on disk, or it
 * is read-only. */
int subject_check_change(const Child *c, Subject *s, const MountOutcome *o, const FilesDecision *d,
                         Failure *f) _warn_unused_;

/* Fails with NOT_SUPPORTED if an option of the mount makes files show labels that are not on disk. */
int subject_check_overridden(bool overrides_labels, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "model/failure.h"
#include "model/files.h"
#include "tree/tree.h"

/* Compares or changes labels, groups and modes of all files beneath a directory, in one walk. */

typedef enum FilesMode {
        FILES_VERIFY, /* compare, change nothing */
        FILES_CHANGE, /* set what differs */
} FilesMode;

typedef struct FilesSpec {
        TreeSpec tree; /* without a visitor */
        FilesMode mode;
        const char *context;        /* wanted, canonical; NULL: labels don't matter */
        const Ownership *ownership; /* wanted; NULL: groups and modes don't matter */
        bool blind;                 /* FILES_CHANGE: every label is known to be another, so write without a look */
        bool contended;             /* FILES_CHANGE: others may rename entries meanwhile */
} FilesSpec;

/* Walks, see tree_walk(). FILES_CHANGE: an entry gets all of its label, its group and its mode, in this
 * order, that is not right already; what is right is not written (its ctime stays). But on ext4, which
 * leaves alone an inode that is given the value it has, labels are written without a look if the root has
 * another one. Modes only ever get bits more (ownership_mode()); setuid and setgid, which the kernel takes
 * away from a file whose group changes, are given back, file capabilities are not; of a symbolic link the
 * group alone is changed, and no link is followed. FILES_CHANGE needs CAP_FOWNER; labels need CAP_SYS_ADMIN
 * besides, groups CAP_CHOWN, and CAP_FSETID, or else the kernel drops setgid where a mode is set, without a
 * word. Returns as tree_walk(), and NOT_SUPPORTED, with nothing touched, if the file system keeps no labels
 * though they matter, or is read-only. */
int files_walk(const FilesSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

/* Explains the errno of an entry to a user: the meaning here and, in brackets, what to do.
 * group: its group was to be changed, not only its label. */
const char *files_error_text(int error, bool group);

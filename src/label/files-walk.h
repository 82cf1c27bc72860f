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
        TreeSpec tree; /* visitor is NULL */
        FilesMode mode;
        const char *context;        /* the wanted label, canonical; NULL: ignore labels */
        const Ownership *ownership; /* the wanted group and modes; NULL: ignore both */
        /* FILES_CHANGE: every label is known to be wrong, so it is written without reading */
        bool blind;
        bool contended; /* FILES_CHANGE: others may rename entries meanwhile */
} FilesSpec;

/* Walks over the files, see tree_walk(). FILES_CHANGE sets the label, then the group, then the mode of each
 * entry. A right value is not written, so the ctime stays. But ext4 does not write an equal label to the
 * inode, so on ext4 labels are written without reading if the root has another label. Modes only gain bits
 * (ownership_mode()). chown(2) clears setuid, setgid and file capabilities of a file; setuid and setgid are
 * restored, file capabilities are not. Of a symbolic link only label and group are changed, and no link is
 * followed. FILES_CHANGE needs CAP_FOWNER; labels also need CAP_SYS_ADMIN; groups also need CAP_CHOWN and
 * CAP_FSETID, without which chmod(2) clears setgid silently. Returns as tree_walk(), or NOT_SUPPORTED, with
 * nothing changed, if the file system is read-only, or keeps no labels and context is set. */
int files_walk(const FilesSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

/* Explains the errno of an entry to a user: the reason and, in brackets, the remedy. group: the group of the
 * entry was to be changed, not only its label. */
const char *files_error_text(int error, bool group);

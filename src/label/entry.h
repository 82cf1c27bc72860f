/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "basic/cleanup.h"
#include "model/files.h"
#include "tree/tree.h"

/* Compares or changes the label, and the group and mode, of one entry of a tree. */

enum { LABEL_MAX = 4096 }; /* bytes of a label, at most */

typedef struct LabelWanted {
        const char *context; /* canonical */
        size_t size;         /* with the trailing NUL, which is written, too */
        bool blind;          /* write without reading the label first, except in the second pass */
} LabelWanted;

/* Each thread has its own. */
typedef struct LabelBuffers {
        char label[LABEL_MAX];
        char other[LABEL_MAX]; /* the last label that was found wrong; "": none yet */
} LabelBuffers;

typedef struct OwnerWanted {
        const Ownership *ownership;
        bool contended;           /* others may rename entries meanwhile */
        atomic_bool no_fchmodat2; /* the kernel has no fchmodat2(2) */
} OwnerWanted;

/* Each returns 0, also if the entry is gone, or a negative errno. *ret_differs is set if the label, or the
 * group or mode, differs; then *ret_text describes the difference if e->describe is set. *ret_changed is set
 * if anything was changed. */
int entry_label_compare(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_differs,
                        char **ret_text) _warn_unused_;
int entry_label_change(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_changed) _warn_unused_;
int entry_owner_compare(const OwnerWanted *w, const TreeEntry *e, bool *ret_differs, char **ret_text) _warn_unused_;
int entry_owner_change(OwnerWanted *w, const TreeEntry *e, bool *ret_changed) _warn_unused_;

/* Describes a wrong label in one line; "": the entry has no label. NULL without memory. */
char *label_describe(const char *label);

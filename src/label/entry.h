/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "basic/cleanup.h"
#include "model/files.h"
#include "tree/tree.h"

/* One entry of a tree: its label, and its group and mode, compared or changed. */

enum { LABEL_MAX = 4096 }; /* bytes of a label that is compared */

typedef struct LabelWanted {
        const char *context; /* canonical */
        size_t size;         /* with the trailing NUL, as it is written */
        bool blind;          /* labels are written without a look, but for the second one */
} LabelWanted;

/* A thread's own. */
typedef struct LabelBuffers {
        char label[LABEL_MAX];
        char other[LABEL_MAX]; /* a label that was found to be another one than wanted; "" for none yet */
} LabelBuffers;

typedef struct OwnerWanted {
        const Ownership *ownership;
        bool contended;           /* others may rename entries meanwhile */
        atomic_bool no_fchmodat2; /* the kernel has no such call */
} OwnerWanted;

/* Each returns 0, also if the entry is gone, or a negative errno. *ret_differs is set if the label, or group
 * or mode, does, *ret_text to a description then, if there is to be one; *ret_changed if anything was
 * changed, even if not all. */
int entry_label_compare(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_differs,
                        char **ret_text) _warn_unused_;
int entry_label_change(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_changed) _warn_unused_;
int entry_owner_compare(const OwnerWanted *w, const TreeEntry *e, bool *ret_differs, char **ret_text) _warn_unused_;
int entry_owner_change(OwnerWanted *w, const TreeEntry *e, bool *ret_changed) _warn_unused_;

/* Describes an entry that has another label, "" if it has none. One line; NULL on lack of memory. */
char *label_describe(const char *label);

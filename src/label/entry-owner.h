/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "basic/cleanup.h"
#include "model/files.h"
#include "tree/tree.h"

/* Group and mode of one entry of a tree: compared, or changed. */

typedef struct OwnerWanted {
        const Ownership *ownership;
        bool contended;           /* others may rename entries meanwhile */
        atomic_bool no_fchmodat2; /* the kernel has no such call */
} OwnerWanted;

/* Each returns 0, also if the entry is gone, or a negative errno. *ret_differs is set if group or mode do, *ret_text to a
 * description then, if there is to be one; *ret_changed if anything was changed, even if not all. */
int entry_owner_compare(const OwnerWanted *w, const TreeEntry *e, bool *ret_differs, char **ret_text) _warn_unused_;
int entry_owner_change(OwnerWanted *w, const TreeEntry *e, bool *ret_changed) _warn_unused_;

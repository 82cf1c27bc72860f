/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/gid-util.h"

/* fsGroup: the files of a volume are given to a group (Kubernetes' pod.spec.securityContext.fsGroup, KEP-695, KEP-1682,
 * KEP-2317). This is what all files of a volume are to have. */
typedef struct Ownership {
        gid_t gid;
        bool readers; /* the group needs to read only */
} Ownership;

/* The mode that an entry ought to have: bits are only ever added, as kubelet does (SetVolumeOwnership()): 0660, or
 * 0440 for reading; directories setgid and 0110 besides. Symbolic links have no mode of their own. */
mode_t ownership_mode(const Ownership *o, mode_t mode) _pure_;
/* Whether an entry has both. Of the root this is kubelet's rule for OnRootMismatch (KEP-695). */
bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mount-note.h"
#include "mount/source.h"
#include "worker/child.h"

/* Which mounts the worker may work on, by its notes, whatever selvold says: those that it made, and those that it adopted. What
 * others have mounted without a device or a server, a tmpfs, may hold a pod's secret: that is neither shared nor changed, adopted or
 * not. All return 0, a negative errno, or what they say. */

/* mount_note_write(). WORKER_FAILED or INVALID_TARGET: it can't be noted. */
int noted_write(int fd, MountNote *note, Failure *f) _warn_unused_;

/* Whether the mount may be shared as one of the source. PATH_NOT_ALLOWED if not. */
int noted_check_shared(const Child *c, const Source *source, const MountFact *fact, Failure *f) _warn_unused_;

/* Whether the files of a mount that is visible may be changed; adopting: although it is not noted yet. PATH_NOT_ALLOWED if
 * not. */
int noted_check_change(const Child *c, const MountFact *fact, bool adopting, Failure *f) _warn_unused_;

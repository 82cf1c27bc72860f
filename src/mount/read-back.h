/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-source.h"

/* What the kernel makes of a mount. root_context is left NULL. All return 0 or a negative errno, or what is
 * said. */

/* Of the mount whose root fd is, by the mount table. target is copied to the fact. */
int read_back_mount(int fd, const char *target, MountOutcome *ret) _warn_unused_;

/* Of a detached mount that was made from source just now, by asking it, as it is in no mount table: whether
 * its root has the context that was asked for, and whether no file can be given another one. Returns 1; or
 * 0 if that doesn't tell everything: without a context where SELinux is on, or read-only. */
int read_back_detached(const StageSpec *spec, int tree, const char *source, MountOutcome *ret) _warn_unused_;

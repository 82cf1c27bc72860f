/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "volume-plugin/records.h"

/* Calls of selvold's methods. Each has a connection of its own, waits so long for the answer, and returns
 * 0, a negative errno, or a positive FailureKind with what selvold or the bus said. A call that was given
 * up goes on in selvold, and is joined by the next one. */

/* Whether selvold would take the request. That somebody else is in the way is no mistake of it. */
int call_plan(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
int call_mount(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
int call_unmount(const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
/* Whether selvold has a volume mounted at the target. */
int call_is_mounted(const char *target, uint64_t timeout_usec, bool *ret, Failure *f) _warn_unused_;

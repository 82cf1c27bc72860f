/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "volume-plugin/records.h"

/* Calls of selvold's methods. Each waits for its turn, opens a connection of its own, waits for the reply,
 * all in timeout_usec, and
 * returns 0, a negative errno, or a positive FailureKind with the message of selvold or the bus. After a
 * time-out, selvold goes on with the job, and the next call joins it. */

/* Checks that selvold would accept the request. A conflict with another user of the volume is no failure. */
int call_plan(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
int call_mount(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
int call_unmount(const char *target, uint64_t timeout_usec, Failure *f) _warn_unused_;
/* Whether selvold has a volume mounted at the target. */
int call_is_mounted(const char *target, uint64_t timeout_usec, bool *ret, Failure *f) _warn_unused_;

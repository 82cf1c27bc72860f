/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/stage-spec.h"

/* Why a mount can't be had, where the reason is another mount of the same superblock. */

/* Compares what was asked for with what the kernel did. Returns 0, a negative errno, CONTEXT_CONFLICT, CONTEXT_DROPPED or
 * MOUNT_FAILED. */
int stage_check_outcome(const StageSpec *spec, const MountOutcome *o, Failure *f) _warn_unused_;

/* The kernel says only EINVAL or EBUSY. Replaces f if another mount is the reason. Returns 0 if none is, a negative errno,
 * CONTEXT_CONFLICT, BUSY or MOUNT_FAILED. */
int stage_explain_failure(const StageSpec *spec, int number, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/observed.h"

/* Reads the label of a directory that was opened with O_PATH, through a descriptor on which the kernel asks the file
 * system, into outcome's root_context. Returns 0 or a negative errno. */
int outcome_read_root(int fd, MountOutcome *outcome) _warn_unused_;

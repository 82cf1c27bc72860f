/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"
#include "wire/messages.h"
#include "worker/subject.h"

/* Mounts the source as selvold's answer wants it, where nobody sees it, once more if a mount is to be shared. question
 * is what the answer answers. The outcome is what the kernel makes of it, without what the root shows. Returns 0, a negative errno, after which the process
 * may be in the wrong namespace and must end, or a failure kind. */
int staged_make(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                Subject *ret, MountOutcome *ret_outcome, Failure *f) _warn_unused_;

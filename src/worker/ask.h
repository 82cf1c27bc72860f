/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"
#include "worker/child.h"

/* What the child asks selvold and tells it while an operation runs, on the connection that it serves (wire/protocol.h).
 * What is told has left when a function returns. All return 0 or a negative errno; of it -ECANCELED ends the operation
 * without a reply: selvold wants none, or has hung up. */

/* Also WORKER_FAILED if selvold has no answer. *ret is of PLAN_GO; or of PLAN_LOOK, if the question has mounts_unknown. */
int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) _warn_unused_;
int ask_walk(Child *c, const WalkNote *note, Failure *f) _warn_unused_;
int ask_ready(Child *c, const ReadyNote *note, Failure *f) _warn_unused_;

int tell_marked(Child *c, const Mark *mark) _warn_unused_;
int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) _warn_unused_;

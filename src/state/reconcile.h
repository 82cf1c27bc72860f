/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Brings the record in line with the kernel, which is the truth: every holder is confirmed, an interrupted mount or
 * unmount is finished or rolled back, a holder whose mount is gone is released. Targets that a job has claimed are
 * left to it. Returns 0 or -ENOMEM. */
int reconcile(State *s, const MountFact *facts, size_t n_facts) _warn_unused_;
/* The same for one holder and the mount with its id (NULL: there is none). May free the holder. */
void reconcile_holder(State *s, Volume *v, Holder *h, const MountFact *fact);

/* After a reboot nobody holds anything; labels and taints stay. */
void reconcile_reboot(State *s);

/* The key of a claim on a target; NULL on lack of memory. */
char *target_claim_key(const char *target) _warn_unused_;
/* Whether a job is at work there. */
bool target_is_claimed(const State *s, const char *target);

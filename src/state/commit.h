/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Durability: changes that are made until nothing else is ready, and none is being written, are one
 * transaction, and what must wait for it waits here. The store writes it on a thread of its own. */

/* Called once the changes recorded before are durable (0), or can't be made so (negative errno; -ECANCELED at
 * the end of the service). */
typedef void (*CommitCallback)(State *s, int error, void *userdata);

/* With the store open. */
int commit_setup(State *s);
/* Calls back everybody who waits, with -ECANCELED. */
void commit_teardown(State *s);

/* Record a volume in the open transaction, one of its holders too, or that the holder is gone, and have the
 * volume's new properties announced. A holder that is released is the caller's. */
void commit_volume(State *s, Volume *v);
void commit_holder(State *s, Volume *v, const Holder *h);
Holder *commit_release(State *s, Volume *v, Holder *h);
/* Drops a volume from memory, bus and store. */
void commit_removal(State *s, Volume *v);
/* Calls back when everything recorded so far is durable. -ENOMEM if it never will. */
int commit_then(State *s, CommitCallback callback, void *userdata);
/* Waits until all is durable, or can't be made so: only for start and end. */
int commit_now(State *s);

/* Why the last commit could not be written, a negative errno; or 0. It is tried anew with what happens next,
 * at most every second. */
int commit_get_error(const State *s);
/* What helps if it could not, as part of a sentence. */
const char *commit_remedy(int error);

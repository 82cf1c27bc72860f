/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Durability: changes that are made until nothing else is ready are one transaction, and what must wait for it waits here. */

/* Called once the changes recorded before are durable (0), or can't be made so (negative errno; -ECANCELED at the
 * end of the service). */
typedef void (*CommitCallback)(State *s, int error, void *userdata);

int commit_setup(State *s);
/* Calls back everybody who waits, with -ECANCELED. */
void commit_teardown(State *s);

/* Record a volume in the open transaction, one of its holders too, or that the holder is gone, and have the volume's new
 * properties announced. A holder that is released is the caller's. */
void commit_volume(State *s, Volume *v);
void commit_holder(State *s, Volume *v, const Holder *h);
Holder *commit_release(State *s, Volume *v, Holder *h);
/* Drops a volume from memory, bus and store. */
void commit_removal(State *s, Volume *v);
/* Calls back when everything recorded so far is durable. -ENOMEM if it never will. */
int commit_then(State *s, CommitCallback callback, void *userdata);
/* Commits now: only for start and end, when nobody waits. */
int commit_now(State *s);

/* Whether the state can be written; tries to write it anew, at most every second, if an earlier commit failed. */
bool commit_is_possible(State *s);

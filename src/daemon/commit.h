/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Durability: changes of one iteration of the event loop are one transaction, and what must wait for it waits here.
 */

/* Called once the changes recorded before are durable (0), or can't be made so (negative errno; -ECANCELED at the
 * end of the service). */
typedef void (*CommitCallback)(Manager *m, int error, void *userdata);

int commit_setup(Manager *m);
void commit_teardown(Manager *m);

/* Records a volume in the open transaction and has its new properties announced. */
void commit_volume(Manager *m, Volume *v);
/* Drops a volume from memory, bus and state. */
void commit_removal(Manager *m, Volume *v);
/* Calls back when everything recorded so far is durable. -ENOMEM if it never will. */
int commit_then(Manager *m, CommitCallback callback, void *userdata);
/* Commits now: only for start and end, when nobody waits. */
int commit_now(Manager *m);

/* Whether the state can be written; tries to write it anew, at most every second, if an earlier commit failed. */
bool commit_is_possible(Manager *m);

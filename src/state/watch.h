/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* The long-lived connection to the worker that tells of changes in the mount table.
 *
 * Anybody who may mount can unmount, move, cover or remount what a holder is recorded for, and selvold reads
 * no mount table itself. The worker answers Watch with every mount beneath the target roots, and then tells
 * what has come and what has gone. Each holder is compared with that (state/reconcile.h), unless a job has
 * claimed its target: the job knows better, and recheck_needed has the table looked at again after it.
 *
 * Three things could make a look mislead. A snapshot may be older than a mount that was recorded while it was
 * under way: it is asked for again. A mount may come and go between two looks of the worker: each one that is
 * recorded is named to it (Expect), and it tells of those that aren't there. The kernel gives ids anew: what
 * is said of an id before its Expect has been answered is of an earlier mount, and is not believed.
 *
 * When the worker dies, or says what can't be read, the connection is made anew, after a second at first and
 * five at most, and begins with a snapshot: what happened meanwhile is seen as its sum. When selvold dies the
 * holders are in the store, and the next one compares them with its first snapshot. */

/* Connects and waits for the first look, 10 seconds at most. Returns 0; with the worker out of reach it
 * says so in the journal, goes on trying, and returns 0 too: what is recorded stays as it is until the
 * kernel has been asked. */
int watch_start(State *s);
/* Has a mount that a job has just made looked for, as it may be gone already. */
void watch_expect(State *s, const MountFact *fact);
/* Looks at the whole table again, soon. */
void watch_recheck(State *s);
/* Whether changes of the mount table are heard of: the worker has answered, and does not only accept
 * connections. While the whole table is looked at again, too. */
bool watch_is_heard(const State *s);
void watch_stop(State *s);

/* Takes over what the worker said of the node. Returns whether the mode of SELinux is another one than
 * before. */
bool state_take_node(State *s, Node *node);

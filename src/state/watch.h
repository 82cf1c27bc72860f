/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* The long-lived connection to the worker that tells of changes in the mount table. When it breaks it is
 * made anew, and all holders are compared with the kernel again. */

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

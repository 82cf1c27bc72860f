/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Durability. Changes become one transaction if they are made before the event loop is idle, and while no
 * other transaction is being written. Callbacks wait here for their transaction. The store writes it on its
 * own thread. */

/* Called when the changes recorded before are durable (0), or can't be written (a negative errno; -ECANCELED
 * if the service ends). */
typedef void (*CommitCallback)(State *s, int error, void *userdata);

/* The store must be open. Returns 0 or a negative errno. */
int commit_setup(State *s);
/* Calls all waiting callbacks, with -ECANCELED. */
void commit_teardown(State *s);

/* Record a volume, a volume and one of its holders, or the removal of a holder in the open transaction, and
 * emit an event for the volume. The caller of commit_release() gets the holder. */
void commit_volume(State *s, Volume *v);
void commit_holder(State *s, Volume *v, const Holder *h);
Holder *commit_release(State *s, Volume *v, Holder *h);
/* Drops a volume from memory, bus and store. */
void commit_removal(State *s, Volume *v);
/* No job gets a number that a job of the same boot had. Numbers are recorded long before they are used, so
 * that no job waits for the disk. used: the last one that an earlier selvold of this boot has recorded. */
void commit_job_numbers(State *s, uint64_t used);
uint64_t commit_next_job(State *s);
/* Calls back when everything recorded so far is durable. Returns 0; -ENOMEM: will not call back. */
int commit_then(State *s, CommitCallback callback, void *userdata);
/* Waits until everything is durable, or can't be written. Only for the start. Returns 0 or a negative
 * errno. */
int commit_now(State *s);
/* The same for the end, but gives up after some seconds. Returns 0, or -ETIMEDOUT if the store still writes
 * and must not be closed. */
int commit_last(State *s);

/* The error of the last commit, a negative errno; 0: none. The next commit tries to write everything, at most
 * once a second. */
int commit_get_error(const State *s);
/* The remedy for such an error, as part of a sentence. */
const char *commit_remedy(int error);

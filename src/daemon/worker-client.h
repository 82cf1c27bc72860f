/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "core/observed.h"

/* selvold's end of the wire to the worker (core/worker-protocol.h). */

/* Connects. Returns 0 or a negative errno. */
int worker_connect(const char *socket_path, sd_event *event, sd_bus **ret);
/* Half-closes: the worker's parent ends the child, and the connection's end says that it is gone. */
void worker_hang_up(sd_bus *worker);
/* Closes and forgets, also from within a callback of the connection. */
sd_bus *worker_disconnect(sd_bus *worker);
DEFINE_CLEANUP_FUNC(sd_bus *, worker_disconnect);

/* Read what the worker says. All strings are checked: -EBADMSG for what can't be. */
int worker_read_node(sd_bus_message *m, Node *ret);
int worker_read_facts(sd_bus_message *m, MountFact **ret, size_t *ret_n);
int worker_read_outcome(sd_bus_message *m, MountOutcome *ret);
/* The reply of Observe, node included. */
int worker_read_observed(sd_bus_message *m, Node *ret_node, Observed *ret);

/* Turns an error reply into a failure: the worker's own errors as they are, everything else as WORKER_FAILED.
 * Returns the kind or -ENOMEM. */
int worker_read_failure(const sd_bus_error *e, Failure *f);
/* Whether an error reply is the verb's own verdict, so that nothing was left half done. A connection that broke says
 * nothing of the kind, and neither does WORKER_FAILED. */
bool worker_error_is_answer(const sd_bus_error *e);

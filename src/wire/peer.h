/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/failure.h"

/* The two ends of a connection (wire/protocol.h). */

/* selvold's end. event may be NULL. Returns 0 or a negative errno. */
int peer_connect(const char *socket_path, sd_event *event, sd_bus **ret) _warn_unused_;
/* Waits until the other end has answered for the first time, which sd_bus_call() does for 90 seconds whatever
 * its own time-out is. Returns 0, -ETIMEDOUT or another negative errno. */
int peer_wait(sd_bus *peer, uint64_t timeout_usec) _warn_unused_;
/* The worker's end, to which objects are added; and its start on an accepted connection, whose peer has been
 * checked. Takes fd over, also on failure. Return 0 or a negative errno. */
int peer_prepare(sd_bus **ret) _warn_unused_;
int peer_accept(sd_bus *peer, int fd) _warn_unused_;

/* Half-closes: the worker's parent ends the child, and the connection's end says that it is gone. */
void peer_hang_up(sd_bus *peer);
/* Closes and forgets, also from within a callback of the connection. Returns NULL. */
sd_bus *peer_disconnect(sd_bus *peer);
DEFINE_CLEANUP_FUNC(sd_bus *, peer_disconnect);

/* The D-Bus error that a failure stands for. Returns what a method's handler returns then: negative. */
int peer_error_set(sd_bus_error *error, const Failure *f);
/* The failure that an error stands for: those of ours as they are, everything else WORKER_FAILED. Returns the
 * kind or -ENOMEM. */
int peer_error_read(const sd_bus_error *error, Failure *f);
/* Whether an error reply is the operation's own verdict, after which nothing is left half done; a connection
 * that broke says nothing of the kind, and neither does WORKER_FAILED. */
bool peer_error_is_answer(const sd_bus_error *error);

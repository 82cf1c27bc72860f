/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/failure.h"

/* The two ends of a connection (wire/protocol.h). */

/* selvold's end. event may be NULL. Returns 0 or a negative errno. */
int peer_connect(const char *socket_path, sd_event *event, sd_bus **ret) _warn_unused_;
/* Waits for the first answer of the other end. sd_bus_call() would wait 90 seconds for it, whatever its own
 * time-out is. Returns 0, -ETIMEDOUT or another negative errno. */
int peer_wait(sd_bus *peer, uint64_t timeout_usec) _warn_unused_;
/* The worker's end: peer_prepare() makes it, the caller adds objects, and peer_accept() starts it on an
 * accepted connection, whose peer has been checked. peer_accept() takes fd over, also after an error. Both
 * return 0 or a negative errno. */
int peer_prepare(sd_bus **ret) _warn_unused_;
int peer_accept(sd_bus *peer, int fd) _warn_unused_;

/* Makes a call from the worker's end, outside of any handler, and waits without a time-out for the answer.
 * Reads one message, of at most max bytes: all else would fill the memory. Returns 0 or a negative errno:
 * -EMSGSIZE if the message is larger, -EPROTO if it is no answer; with error set if the answer is an error.
 */
int peer_ask(sd_bus *peer, sd_bus_message *call, size_t max, sd_bus_error *error, sd_bus_message **ret) _warn_unused_;

/* Half-closes the connection: the worker's parent then ends the child, and the connection ends when the child
 * is gone. */
void peer_hang_up(sd_bus *peer);
/* Closes and frees the connection, also from one of its callbacks. Returns NULL. */
sd_bus *peer_disconnect(sd_bus *peer);
DEFINE_CLEANUP_FUNC(sd_bus *, peer_disconnect);

/* Sets the D-Bus error of the failure. Returns a negative value for the method's handler to return. */
int peer_error_set(sd_bus_error *error, const Failure *f);
/* Converts an error to a failure: selvol's errors keep their kind, all others become WORKER_FAILED. Returns
 * the kind or -ENOMEM. */
int peer_error_read(const sd_bus_error *error, Failure *f);
/* Whether the error is the operation's own result, after which nothing is half done. A broken connection and
 * WORKER_FAILED are not. */
bool peer_error_is_answer(const sd_bus_error *error);

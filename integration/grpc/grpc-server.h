/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "grpc/grpc-call.h"

/* The server's side of gRPC, for calls with one message each way. Whoever serves gives a thread to each
 * connection, which blocks while a handler runs. A connection has one call at a time: clients are told so,
 * and wait with the next one.
 *
 * The client may do anything: what it makes the server keep is limited, a client that sends nothing for a
 * minute loses its connection, and so does one that floods the server with frames that are no call. */

/* Answers a request. Returns 0, or a negative errno: then the answer is GRPC_INTERNAL. */
typedef int (*GrpcHandler)(const GrpcRequest *q, GrpcReply *ret, void *userdata);

/* Serves a connection, whose descriptor stays the caller's, until it ends; when stop can be read, it ends as
 * soon as no call is under way (negative: never). Returns 0, or a negative errno if it ended because the
 * client broke the protocol (-EPROTO), or for lack of memory. */
int grpc_serve(int fd, int stop, GrpcHandler handler, void *userdata) _warn_unused_;

/* Whether nobody waits for the answer any more: the client has canceled the call, or has gone. Returns at
 * once. This is also when the client's pings are answered while a handler runs. */
bool grpc_caller_is_gone(GrpcCaller *c);
/* A descriptor that can be read, as poll(2) says, when grpc_caller_is_gone() may say something new. */
int grpc_caller_fd(const GrpcCaller *c) _pure_;

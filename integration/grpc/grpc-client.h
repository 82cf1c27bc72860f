/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/grpc-call.h"

/* Calls the method of the server that listens at the path, on a connection of its own, and waits for the end
 * of the call. If the caller of q cancels, so does this; if the time is over, it is GRPC_DEADLINE_EXCEEDED.
 * Whatever the server does, it is a status: GRPC_UNAVAILABLE if there is no server or it goes away. Texts
 * that are not the server's name the path. Returns 0 or -ENOMEM. */
int grpc_call(const char *socket_path, const GrpcRequest *q, GrpcReply *ret) _warn_unused_;

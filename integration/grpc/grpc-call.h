/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/status.h"

/* A call of gRPC with one message each way. A handler of grpc_serve() gets a request and makes a reply;
 * grpc_call() takes the same request and returns the same reply: so a handler that forwards is one line.
 * Metadata is not passed on, but for the deadline and the details of a status. */

/* Larger messages end the call with GRPC_RESOURCE_EXHAUSTED. It is what other implementations take. */
enum { GRPC_MESSAGE_MAX = 4 * 1024 * 1024 };

/* The client whose call a handler answers: grpc-server.h */
typedef struct GrpcCaller GrpcCaller;

typedef struct GrpcRequest {
        const char *method; /* "/SERVICE/METHOD", of printable characters */
        const uint8_t *message;
        size_t size;
        uint64_t deadline_usec; /* on the clock of now_monotonic_usec(); UINT64_MAX: none */
        GrpcCaller *caller;     /* NULL: nobody can cancel the call */
} GrpcRequest;

typedef struct GrpcReply {
        GrpcCode code;
        char *text;        /* any bytes but NUL, usually UTF-8; NULL: none */
        char *details;     /* the header grpc-status-details-bin as it was sent; NULL: none */
        GrpcBytes message; /* counts only with GRPC_OK */
} GrpcReply;

void grpc_reply_done(GrpcReply *r);

/* Sets the status of a reply that has none so far. Returns 0 or -ENOMEM. */
int grpc_reply_set(GrpcReply *r, GrpcCode code, const char *format, ...) _printf_(3, 4) _warn_unused_;

#define _cleanup_grpc_reply_ _cleanup_(grpc_reply_done)

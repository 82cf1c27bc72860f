/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/bytes.h"

/* The body of a stream with one message: a byte that says whether the message is compressed, its length in
 * four bytes, the highest first, and the message. */

enum { GRPC_PREFIX_SIZE = 5 };

typedef enum GrpcBodyState {
        GRPC_BODY_EMPTY,
        GRPC_BODY_CUT, /* something is still to come */
        GRPC_BODY_COMPLETE,
        GRPC_BODY_COMPRESSED,
        GRPC_BODY_TOO_LARGE,
        GRPC_BODY_MALFORMED, /* or there is more than one message */
} GrpcBodyState;

/* A body as it comes. */
typedef struct GrpcBody {
        GrpcBodyState state;
        uint8_t prefix[GRPC_PREFIX_SIZE];
        size_t n_prefix;
        GrpcBytes message;
} GrpcBody;

/* Takes the next bytes. Once the body can't become good, the bytes are dropped. Memory is taken for what has
 * come, not for what the length promises. Returns 0 or -ENOMEM. */
int grpc_body_add(GrpcBody *b, const uint8_t *data, size_t size) _warn_unused_;
void grpc_body_done(GrpcBody *b);

void grpc_prefix_write(size_t size, uint8_t ret[static GRPC_PREFIX_SIZE]);

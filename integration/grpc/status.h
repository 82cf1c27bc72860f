/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/string-util.h"
#include "grpc/bytes.h"

/* Values in the headers of gRPC. The rules are those of "gRPC over HTTP2" and "HTTP to gRPC Status Code
 * Mapping", which belong to gRPC. */

typedef enum GrpcCode {
        GRPC_OK = 0,
        GRPC_CANCELLED = 1,
        GRPC_UNKNOWN = 2,
        GRPC_INVALID_ARGUMENT = 3,
        GRPC_DEADLINE_EXCEEDED = 4,
        GRPC_NOT_FOUND = 5,
        GRPC_ALREADY_EXISTS = 6,
        GRPC_PERMISSION_DENIED = 7,
        GRPC_RESOURCE_EXHAUSTED = 8,
        GRPC_FAILED_PRECONDITION = 9,
        GRPC_ABORTED = 10,
        GRPC_OUT_OF_RANGE = 11,
        GRPC_UNIMPLEMENTED = 12,
        GRPC_INTERNAL = 13,
        GRPC_UNAVAILABLE = 14,
        GRPC_DATA_LOSS = 15,
        GRPC_UNAUTHENTICATED = 16,
        GRPC_CODES,
} GrpcCode;

/* Reads grpc-status. Everything that is no code is GRPC_UNKNOWN. */
GrpcCode grpc_code_parse(const char *s) _pure_;
/* An answer without grpc-status means this code. */
GrpcCode grpc_code_of_http(unsigned status) _pure_;
/* A stream that the peer reset with an error code of HTTP/2 means this code. */
GrpcCode grpc_code_of_reset(uint32_t error) _pure_;

/* Write and read grpc-message. What was escaped wrongly stays as it is, and so does "%00". NULL on lack of
 * memory. */
char *grpc_text_escape(const char *text) _warn_unused_;
char *grpc_text_unescape(const char *value) _warn_unused_;

/* Reads grpc-timeout, and rounds up. Returns 0 or -EINVAL. */
int grpc_timeout_parse(const char *s, uint64_t *ret_usec) _warn_unused_;
enum { GRPC_TIMEOUT_SIZE = 10 };
/* Writes grpc-timeout in the finest unit that has room for it; never more than usec. */
void grpc_timeout_format(uint64_t usec, char ret[static GRPC_TIMEOUT_SIZE]);

/* Whether a request or an answer with this content-type is of gRPC. */
bool grpc_content_type_is_valid(const char *s) _pure_;

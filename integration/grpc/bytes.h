/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* Bytes that may be secrets: they are wiped before their memory is given back. */
typedef struct GrpcBytes {
        uint8_t *data;
        size_t size, allocated;
} GrpcBytes;

/* Makes room for so many further bytes. Returns 0 or -ENOMEM. */
int grpc_bytes_reserve(GrpcBytes *b, size_t size) _warn_unused_;
/* Returns 0 or -ENOMEM. */
int grpc_bytes_append(GrpcBytes *b, const void *data, size_t size) _warn_unused_;
void grpc_bytes_done(GrpcBytes *b);

#define _cleanup_grpc_bytes_ _cleanup_(grpc_bytes_done)

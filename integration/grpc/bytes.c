/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "grpc/bytes.h"

enum { ALLOCATED_MIN = 1024 };

/* realloc(3) would leave a copy behind. */
int grpc_bytes_reserve(GrpcBytes *b, size_t size) {
        size_t all = b->size + size, n = 2 * b->allocated;
        uint8_t *data;

        if (all <= b->allocated)
                return 0;
        if (n < all)
                n = all < ALLOCATED_MIN ? ALLOCATED_MIN : all;
        data = malloc(n);
        if (!data)
                return -ENOMEM;
        if (b->data) {
                memcpy(data, b->data, b->size);
                explicit_bzero(b->data, b->size);
                free(b->data);
        }
        b->data = data;
        b->allocated = n;
        return 0;
}

int grpc_bytes_append(GrpcBytes *b, const void *data, size_t size) {
        int r;

        if (size == 0)
                return 0;
        r = grpc_bytes_reserve(b, size);
        if (r < 0)
                return r;
        memcpy(b->data + b->size, data, size);
        b->size += size;
        return 0;
}

void grpc_bytes_done(GrpcBytes *b) {
        if (b->data)
                explicit_bzero(b->data, b->size);
        free(b->data);
        *b = (GrpcBytes){ 0 };
}

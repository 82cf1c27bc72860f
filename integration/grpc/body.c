/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "grpc/body.h"
#include "grpc/grpc-call.h"

static size_t promised_size(const GrpcBody *b) {
        return (size_t) b->prefix[1] << 24 | (size_t) b->prefix[2] << 16 | (size_t) b->prefix[3] << 8 | b->prefix[4];
}

static GrpcBodyState judge_prefix(const GrpcBody *b) {
        if (b->prefix[0] > 1)
                return GRPC_BODY_MALFORMED;
        if (b->prefix[0] == 1)
                return GRPC_BODY_COMPRESSED;
        if (b->n_prefix < GRPC_PREFIX_SIZE)
                return GRPC_BODY_CUT;
        if (promised_size(b) > GRPC_MESSAGE_MAX)
                return GRPC_BODY_TOO_LARGE;
        return promised_size(b) > 0 ? GRPC_BODY_CUT : GRPC_BODY_COMPLETE;
}

static int add_to_message(GrpcBody *b, const uint8_t *data, size_t size) {
        size_t missing = promised_size(b) - b->message.size;
        int r;

        r = grpc_bytes_append(&b->message, data, size < missing ? size : missing);
        if (r < 0)
                return r;
        if (size > missing)
                b->state = GRPC_BODY_MALFORMED;
        else if (size == missing)
                b->state = GRPC_BODY_COMPLETE;
        return 0;
}

int grpc_body_add(GrpcBody *b, const uint8_t *data, size_t size) {
        if (size == 0)
                return 0;
        if (b->state == GRPC_BODY_COMPLETE)
                b->state = GRPC_BODY_MALFORMED;
        if (b->state > GRPC_BODY_COMPLETE)
                return 0;
        while (size > 0 && b->n_prefix < GRPC_PREFIX_SIZE) {
                b->prefix[b->n_prefix++] = *data++;
                size--;
        }
        if (b->message.size == 0)
                b->state = judge_prefix(b);
        if (size == 0 || b->state > GRPC_BODY_COMPLETE)
                return 0;
        return add_to_message(b, data, size);
}

void grpc_body_done(GrpcBody *b) {
        grpc_bytes_done(&b->message);
        *b = (GrpcBody){ 0 };
}

void grpc_prefix_write(size_t size, uint8_t ret[static GRPC_PREFIX_SIZE]) {
        const uint8_t prefix[GRPC_PREFIX_SIZE] = { 0, (uint8_t) (size >> 24), (uint8_t) (size >> 16),
                                                   (uint8_t) (size >> 8), (uint8_t) size };

        memcpy(ret, prefix, sizeof(prefix));
}

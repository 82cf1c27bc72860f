/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "grpc/headers.h"

enum { HEADER_OVERHEAD = 32 };

static const char *const header_table[HEADER_NAMES] = {
        [HEADER_METHOD] = ":method",
        [HEADER_SCHEME] = ":scheme",
        [HEADER_AUTHORITY] = ":authority",
        [HEADER_PATH] = ":path",
        [HEADER_STATUS] = ":status",
        [HEADER_TE] = "te",
        [HEADER_TIMEOUT] = "grpc-timeout",
        [HEADER_CONTENT_TYPE] = "content-type",
        [HEADER_ENCODING] = "grpc-encoding",
        [HEADER_ACCEPT_ENCODING] = "grpc-accept-encoding",
        [HEADER_USER_AGENT] = "user-agent",
        [HEADER_GRPC_STATUS] = "grpc-status",
        [HEADER_GRPC_MESSAGE] = "grpc-message",
        [HEADER_GRPC_DETAILS] = "grpc-status-details-bin",
};

int headers_take(Headers *h, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size) {
        h->size += name_size + value_size + HEADER_OVERHEAD;
        if (headers_are_too_large(h) || memchr(value, '\0', value_size))
                return 0;
        for (size_t i = 0; i < HEADER_NAMES; i++)
                if (strlen(header_table[i]) == name_size && memcmp(header_table[i], name, name_size) == 0) {
                        free(h->values[i]);
                        h->values[i] = strndup((const char *) value, value_size);
                        return h->values[i] ? 0 : -ENOMEM;
                }
        return 0;
}

void headers_done(Headers *h) {
        for (size_t i = 0; i < HEADER_NAMES; i++)
                free(h->values[i]);
        *h = (Headers){ 0 };
}

void header_list_add(HeaderList *l, HeaderName name, const char *value) {
        if (!value)
                return;
        l->list[l->n++] = (nghttp2_nv){
                .name = (uint8_t *) header_table[name],
                .namelen = strlen(header_table[name]),
                .value = (uint8_t *) value,
                .valuelen = strlen(value),
        };
}

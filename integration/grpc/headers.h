/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <nghttp2/nghttp2.h>

#include "basic/cleanup.h"

/* The headers that count, of one request or one answer. */

enum { HEADERS_SIZE_MAX = 64 * 1024 };

typedef enum HeaderName {
        HEADER_METHOD,
        HEADER_SCHEME,
        HEADER_AUTHORITY,
        HEADER_PATH,
        HEADER_STATUS,
        HEADER_TE,
        HEADER_TIMEOUT,
        HEADER_CONTENT_TYPE,
        HEADER_ENCODING,
        HEADER_ACCEPT_ENCODING,
        HEADER_USER_AGENT,
        HEADER_GRPC_STATUS,
        HEADER_GRPC_MESSAGE,
        HEADER_GRPC_DETAILS,
        HEADER_NAMES,
} HeaderName;

typedef struct Headers {
        char *values[HEADER_NAMES]; /* NULL: not sent */
        size_t size;                /* of all headers, as HTTP/2 measures it */
} Headers;

/* Takes a header; of several with one name the last one counts. Drops the values of others, those with a
 * NUL, and what comes when the headers are too large. Returns 0 or -ENOMEM. */
int headers_take(Headers *h, const uint8_t *name, size_t name_size, const uint8_t *value,
                 size_t value_size) _warn_unused_;
static inline bool headers_are_too_large(const Headers *h) {
        return h->size > HEADERS_SIZE_MAX;
}
void headers_done(Headers *h);

/* Headers that are to be sent, in their order. The values are borrowed. */
typedef struct HeaderList {
        nghttp2_nv list[HEADER_NAMES];
        size_t n;
} HeaderList;

/* Adds a header unless the value is NULL. Each name may be added once. */
void header_list_add(HeaderList *l, HeaderName name, const char *value);

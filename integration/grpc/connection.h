/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <nghttp2/nghttp2.h>

#include "grpc/body.h"

/* One side of a connection of HTTP/2. nghttp2 knows the protocol and does no I/O; these functions send and
 * receive for it. All but connection_wait() return at once. Functions return 0 or a negative errno, after
 * which the connection is of no use: -ECONNRESET if the peer has gone, -EPROTO if it broke the protocol in a
 * way that nothing can be said any more.
 *
 * nghttp2's own checks of headers are off, as they refuse an :authority that is a path, which kubelet before
 * 1.26 sends, and drop a text with a blank at its end: so names and values of headers may have any bytes. */

enum { CONNECTION_BUFFER_SIZE = 32 * 1024 };

typedef struct GrpcConnection {
        int fd; /* the caller's */
        nghttp2_session *session;
        const uint8_t *chunk; /* nghttp2's next bytes to be sent, as far as they are not in the buffer */
        size_t chunk_size;
        uint8_t buffer[CONNECTION_BUFFER_SIZE]; /* a peer that gets all frames at once wakes up once */
        size_t begin, end;
} GrpcConnection;

/* The functions that nghttp2 calls. They fail only for lack of memory. */
typedef struct ConnectionCallbacks {
        nghttp2_on_begin_frame_callback begin_frame;
        nghttp2_on_begin_headers_callback begin_headers;
        nghttp2_on_header_callback header;
        nghttp2_on_data_chunk_recv_callback data;
        nghttp2_on_frame_recv_callback frame;
        nghttp2_on_stream_close_callback close;
} ConnectionCallbacks;

/* Starts the protocol. userdata is for the callbacks. */
int connection_start(GrpcConnection *c, int fd, bool server, const ConnectionCallbacks *callbacks,
                     void *userdata) _warn_unused_;
void connection_done(GrpcConnection *c);

/* Sends what can be sent now. */
int connection_send(GrpcConnection *c);
/* Receives what has come, and calls the callbacks for it. */
int connection_receive(GrpcConnection *c) _warn_unused_;
/* Whether something could not be sent yet. */
bool connection_is_sending(const GrpcConnection *c);
/* Whether nothing more is to be sent or received: one side has ended the connection, or made a mistake. */
bool connection_is_over(const GrpcConnection *c);
/* Waits until the connection can receive, or go on to send, or other can be read (negative: nothing else is
 * waited for). Returns 1 if other can be read, 0 otherwise, or -ETIMEDOUT at that time of
 * now_monotonic_usec(). */
int connection_wait(const GrpcConnection *c, int other, uint64_t until_usec) _warn_unused_;

/* A message on its way out, with its prefix. */
typedef struct Outgoing {
        uint8_t prefix[GRPC_PREFIX_SIZE];
        const uint8_t *message;
        size_t size, sent; /* sent counts the prefix, too */
} Outgoing;

void outgoing_start(Outgoing *o, const uint8_t *message, size_t size);
/* Fills a buffer of nghttp2. Returns the number of bytes; *ret_end is whether they were the last ones. */
size_t outgoing_read(Outgoing *o, uint8_t *buffer, size_t room, bool *ret_end);

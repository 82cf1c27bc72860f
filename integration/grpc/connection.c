/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <sys/socket.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "grpc/grpc-call.h"
#include "grpc/connection.h"
#include "grpc/headers.h"

enum {
        /* A peer need not wait for the window in the middle of a message. */
        WINDOW_SIZE = GRPC_MESSAGE_MAX + 64 * 1024,
        /* A text of the driver's may be three times as long when it is escaped. */
        HEADERS_SENT_MAX = 4 * HEADERS_SIZE_MAX,
        RECEIVE_SIZE = 16 * 1024,
};

static int errno_of_nghttp2(int error) {
        return error == NGHTTP2_ERR_NOMEM || error == NGHTTP2_ERR_CALLBACK_FAILURE ? -ENOMEM : -EPROTO;
}

static int new_session(GrpcConnection *c, bool server, const ConnectionCallbacks *callbacks, void *userdata) {
        nghttp2_session_callbacks *all;
        nghttp2_option *options;
        int r;

        if (nghttp2_session_callbacks_new(&all) < 0)
                return -ENOMEM;
        if (nghttp2_option_new(&options) < 0) {
                nghttp2_session_callbacks_del(all);
                return -ENOMEM;
        }
        nghttp2_option_set_no_http_messaging(options, 1);
        nghttp2_option_set_max_send_header_block_length(options, HEADERS_SENT_MAX);
        nghttp2_session_callbacks_set_on_begin_frame_callback(all, callbacks->begin_frame);
        nghttp2_session_callbacks_set_on_begin_headers_callback(all, callbacks->begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(all, callbacks->header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, callbacks->data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(all, callbacks->frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(all, callbacks->close);
        r = server ? nghttp2_session_server_new2(&c->session, all, userdata, options)
                   : nghttp2_session_client_new2(&c->session, all, userdata, options);
        nghttp2_option_del(options);
        nghttp2_session_callbacks_del(all);
        return r < 0 ? -ENOMEM : 0;
}

int connection_start(GrpcConnection *c, int fd, bool server, const ConnectionCallbacks *callbacks, void *userdata) {
        const nghttp2_settings_entry settings[] = {
                { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_SIZE },
                { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_SIZE_MAX },
                server ? (nghttp2_settings_entry){ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1 }
                       : (nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        };
        int r;

        c->fd = fd;
        r = new_session(c, server, callbacks, userdata);
        if (r < 0)
                return r;
        r = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ELEMENTSOF(settings));
        if (r < 0)
                return errno_of_nghttp2(r);
        r = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW_SIZE);
        return r < 0 ? errno_of_nghttp2(r) : 0;
}

void connection_done(GrpcConnection *c) {
        nghttp2_session_del(c->session);
        c->session = NULL;
        explicit_bzero(c->buffer, sizeof(c->buffer));
}

/* Moves what nghttp2 has to say to the buffer, as far as there is room. */
static int fill_buffer(GrpcConnection *c) {
        while (c->end < sizeof(c->buffer)) {
                size_t room = sizeof(c->buffer) - c->end, n;

                if (c->chunk_size == 0) {
                        ssize_t k = nghttp2_session_mem_send(c->session, &c->chunk);

                        if (k < 0)
                                return errno_of_nghttp2((int) k);
                        if (k == 0)
                                return 0;
                        c->chunk_size = (size_t) k;
                }
                n = c->chunk_size < room ? c->chunk_size : room;
                memcpy(c->buffer + c->end, c->chunk, n);
                c->end += n;
                c->chunk += n;
                c->chunk_size -= n;
        }
        return 0;
}

int connection_send(GrpcConnection *c) {
        for (;;) {
                ssize_t n;
                int r;

                if (c->begin == c->end)
                        c->begin = c->end = 0;
                r = fill_buffer(c);
                if (r < 0)
                        return r;
                if (c->begin == c->end)
                        return 0;
                n = send(c->fd, c->buffer + c->begin, c->end - c->begin, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                /* The peer reads no more. connection_receive() still gets what it has said before. */
                c->begin = n < 0 ? c->end : c->begin + (size_t) n;
        }
}

int connection_receive(GrpcConnection *c) {
        uint8_t bytes[RECEIVE_SIZE];
        ssize_t n, used;

        n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -ECONNRESET;
        if (n == 0)
                return -ECONNRESET;
        used = nghttp2_session_mem_recv(c->session, bytes, (size_t) n);
        explicit_bzero(bytes, (size_t) n);
        return used < 0 ? errno_of_nghttp2((int) used) : 0;
}

bool connection_is_sending(const GrpcConnection *c) {
        return c->begin < c->end || c->chunk_size > 0;
}

bool connection_is_over(const GrpcConnection *c) {
        return !connection_is_sending(c) && nghttp2_session_want_read(c->session) == 0 &&
               nghttp2_session_want_write(c->session) == 0;
}

int connection_wait(const GrpcConnection *c, int other, uint64_t until_usec) {
        struct pollfd fds[] = {
                { .fd = c->fd, .events = (short) (POLLIN | (connection_is_sending(c) ? POLLOUT : 0)) },
                { .fd = other, .events = POLLIN },
        };
        uint64_t now = now_monotonic_usec();
        struct timespec rest;
        int n;

        if (until_usec <= now)
                return -ETIMEDOUT;
        rest = (struct timespec){
                .tv_sec = (time_t) ((until_usec - now) / USEC_PER_SEC),
                .tv_nsec = (long) ((until_usec - now) % USEC_PER_SEC * NSEC_PER_USEC),
        };
        n = ppoll(fds, ELEMENTSOF(fds), until_usec == UINT64_MAX ? NULL : &rest, NULL);
        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        if (n == 0)
                return -ETIMEDOUT;
        return fds[1].revents != 0;
}

void outgoing_start(Outgoing *o, const uint8_t *message, size_t size) {
        *o = (Outgoing){ .message = message, .size = size };
        grpc_prefix_write(size, o->prefix);
}

size_t outgoing_read(Outgoing *o, uint8_t *buffer, size_t room, bool *ret_end) {
        size_t all = GRPC_PREFIX_SIZE + o->size, n = 0;

        while (n < room && o->sent < GRPC_PREFIX_SIZE)
                buffer[n++] = o->prefix[o->sent++];
        if (n < room && o->sent < all) {
                size_t rest = all - o->sent, k = rest < room - n ? rest : room - n;

                memcpy(buffer + n, o->message + (o->sent - GRPC_PREFIX_SIZE), k);
                n += k;
                o->sent += k;
        }
        *ret_end = o->sent == all;
        return n;
}

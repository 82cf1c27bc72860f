/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/time-util.h"
#include "grpc/grpc-client.h"
#include "grpc/connection.h"
#include "grpc/headers.h"
#include "grpc/grpc-server.h"

#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

typedef struct Exchange {
        GrpcConnection connection;
        int32_t stream;
        Outgoing request;
        Headers headers; /* of the answer, with its trailers */
        GrpcBody body;
        bool ended;     /* the answer is there, or will not come */
        bool reset;     /* the server has reset the stream */
        uint32_t error; /* of HTTP/2: why */
} Exchange;

static void exchange_done(Exchange *e) {
        connection_done(&e->connection);
        headers_done(&e->headers);
        grpc_body_done(&e->body);
}

static int on_answer_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                            size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                            void *userdata) {
        Exchange *e = userdata;
        int r;

        if (frame->hd.stream_id != e->stream)
                return 0;
        r = headers_take(&e->headers, name, name_size, value, value_size);
        return r < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_answer_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t size,
                          void *userdata) {
        Exchange *e = userdata;
        int r;

        r = grpc_body_add(&e->body, data, size);
        if (e->body.state > GRPC_BODY_COMPLETE)
                e->ended = true;
        return r < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_answer_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata) {
        Exchange *e = userdata;

        if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && frame->hd.stream_id == e->stream)
                e->ended = true;
        return 0;
}

static int on_answer_close(nghttp2_session *session, int32_t stream, uint32_t error, void *userdata) {
        Exchange *e = userdata;

        if (!e->ended) {
                e->ended = e->reset = true;
                e->error = error;
        }
        return 0;
}

static const ConnectionCallbacks client_callbacks = {
        .header = on_answer_header,
        .data = on_answer_data,
        .frame = on_answer_frame,
        .close = on_answer_close,
};

static int check_caller(const GrpcRequest *q) {
        if (q->caller && grpc_caller_is_gone(q->caller))
                return -ECANCELED;
        return now_monotonic_usec() >= q->deadline_usec ? -ETIMEDOUT : 0;
}

/* A server whose queue is full makes connect(2) wait, and nothing but a time ends that. */
static int connect_to(const char *path, const GrpcRequest *q) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const struct timeval a_moment = { .tv_usec = 100 * USEC_PER_MSEC };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path));
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &a_moment, sizeof(a_moment)) < 0)
                return -errno;
        for (;;) {
                r = check_caller(q);
                if (r < 0)
                        return r;
                if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) == 0)
                        return TAKE_FD(fd);
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
        }
}

static ssize_t on_read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room,
                               uint32_t *flags, nghttp2_data_source *source, void *userdata) {
        Exchange *e = source->ptr;
        bool end;
        size_t n = outgoing_read(&e->request, buffer, room, &end);

        if (end)
                *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t) n;
}

static int exchange_start(Exchange *e, int fd, const GrpcRequest *q) {
        const nghttp2_data_provider provider = { .source.ptr = e, .read_callback = on_read_request };
        char timeout[GRPC_TIMEOUT_SIZE] = "";
        HeaderList headers = { .n = 0 };
        uint64_t now;
        int r;

        r = connection_start(&e->connection, fd, false, &client_callbacks, e);
        if (r < 0)
                return r;
        now = now_monotonic_usec();
        if (q->deadline_usec != UINT64_MAX)
                grpc_timeout_format(q->deadline_usec > now ? q->deadline_usec - now : 0, timeout);
        header_list_add(&headers, HEADER_METHOD, "POST");
        header_list_add(&headers, HEADER_SCHEME, "http");
        header_list_add(&headers, HEADER_PATH, q->method);
        header_list_add(&headers, HEADER_AUTHORITY, "localhost");
        header_list_add(&headers, HEADER_TIMEOUT, isempty(timeout) ? NULL : timeout);
        header_list_add(&headers, HEADER_TE, "trailers");
        header_list_add(&headers, HEADER_CONTENT_TYPE, "application/grpc");
        header_list_add(&headers, HEADER_ACCEPT_ENCODING, "identity");
        header_list_add(&headers, HEADER_USER_AGENT, "grpc-c-selvol");
        outgoing_start(&e->request, q->message, q->size);
        e->stream = nghttp2_submit_request(e->connection.session, NULL, headers.list, headers.n, &provider, NULL);
        return e->stream < 0 ? -ENOMEM : 0;
}

static int exchange_run(Exchange *e, const GrpcRequest *q) {
        int r;

        while (!e->ended) {
                r = connection_send(&e->connection);
                if (r < 0)
                        return r;
                if (connection_is_over(&e->connection))
                        return -EPROTO;
                r = connection_wait(&e->connection, q->caller ? grpc_caller_fd(q->caller) : -1, q->deadline_usec);
                if (r < 0)
                        return r;
                r = check_caller(q);
                if (r < 0)
                        return r;
                r = connection_receive(&e->connection);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Tells the server that nobody waits for more. */
static void exchange_cancel(Exchange *e) {
        (void) nghttp2_submit_rst_stream(e->connection.session, NGHTTP2_FLAG_NONE, e->stream, NGHTTP2_CANCEL);
        (void) connection_send(&e->connection);
}

static int reply_without_answer(const char *path, int error, GrpcReply *ret) {
        switch (error) {
        case -ENOMEM:
                return error;
        case -ECANCELED:
                return grpc_reply_set(ret, GRPC_CANCELLED, "The call was canceled.");
        case -ETIMEDOUT:
                return grpc_reply_set(ret, GRPC_DEADLINE_EXCEEDED, "%s did not answer in time.", path);
        case -ECONNRESET:
                return grpc_reply_set(ret, GRPC_UNAVAILABLE, "%s closed the connection before it answered.", path);
        case -EPROTO:
                return grpc_reply_set(ret, GRPC_UNAVAILABLE, "%s does not keep to the protocol HTTP/2.", path);
        default:
                return grpc_reply_set(ret, GRPC_UNAVAILABLE, "%s can't be reached: %s", path, strerror(-error));
        }
}

/* Returns 0 with no code set if the answer has a form that gRPC knows. */
static int check_answer(const char *path, const Exchange *e, GrpcReply *ret) {
        char *const *values = e->headers.values;

        if (headers_are_too_large(&e->headers))
                return grpc_reply_set(ret, GRPC_RESOURCE_EXHAUSTED,
                                      "The headers of the answer of %s are larger than 64 KiB.", path);
        if (e->body.state == GRPC_BODY_TOO_LARGE)
                return grpc_reply_set(ret, GRPC_RESOURCE_EXHAUSTED, "The answer of %s is larger than 4 MiB.", path);
        if (e->body.state == GRPC_BODY_COMPRESSED)
                return grpc_reply_set(ret, GRPC_INTERNAL, "The answer of %s is compressed, which was not allowed.",
                                      path);
        if (e->body.state == GRPC_BODY_MALFORMED)
                return grpc_reply_set(ret, GRPC_INTERNAL, "The answer of %s is more than one message.", path);
        if (e->reset)
                return grpc_reply_set(ret, grpc_code_of_reset(e->error), "%s ended the call: %s", path,
                                      nghttp2_http2_strerror(e->error));
        if (!values[HEADER_GRPC_STATUS])
                return grpc_reply_set(ret, grpc_code_of_http((unsigned) atoi(strempty(values[HEADER_STATUS]))),
                                      "%s answered without a status of gRPC.", path);
        if (grpc_code_parse(values[HEADER_GRPC_STATUS]) == GRPC_OK && e->body.state != GRPC_BODY_COMPLETE)
                return grpc_reply_set(ret, GRPC_INTERNAL, "The answer of %s is not a whole message.", path);
        return 0;
}

/* Takes the server's status and message over. */
static int take_answer(Exchange *e, GrpcReply *ret) {
        char **values = e->headers.values;
        const char *details = values[HEADER_GRPC_DETAILS];

        if (values[HEADER_GRPC_MESSAGE]) {
                ret->text = grpc_text_unescape(values[HEADER_GRPC_MESSAGE]);
                if (!ret->text)
                        return -ENOMEM;
        }
        if (details && details[strspn(details, BASE64)] == '\0')
                ret->details = TAKE_PTR(values[HEADER_GRPC_DETAILS]);
        ret->code = grpc_code_parse(values[HEADER_GRPC_STATUS]);
        ret->message = TAKE_STRUCT(e->body.message);
        return 0;
}

int grpc_call(const char *socket_path, const GrpcRequest *q, GrpcReply *ret) {
        _cleanup_(exchange_done) Exchange e = { .stream = 0 };
        _cleanup_close_ int fd = connect_to(socket_path, q);
        int r;

        if (fd < 0)
                return reply_without_answer(socket_path, fd, ret);
        r = exchange_start(&e, fd, q);
        if (r == 0)
                r = exchange_run(&e, q);
        if (r == -ECANCELED || r == -ETIMEDOUT || e.body.state > GRPC_BODY_COMPLETE)
                exchange_cancel(&e);
        if (r < 0)
                return reply_without_answer(socket_path, r, ret);
        r = check_answer(socket_path, &e, ret);
        return r < 0 || ret->code != GRPC_OK ? r : take_answer(&e, ret);
}

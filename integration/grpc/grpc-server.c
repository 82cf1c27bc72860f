/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "grpc/connection.h"
#include "grpc/headers.h"
#include "grpc/grpc-server.h"

enum {
        IDLE_SEC = 60,
        /* Frames between two answers, without those that carry a message. A client that reads a reply of 4
         * MiB sends some hundreds of them. */
        FRAMES_MAX = 10000,
};

/* A call as it comes in. */
typedef struct Incoming {
        int32_t stream; /* 0: there is none */
        uint64_t start_usec;
        Headers headers;
        GrpcBody body;
        bool complete;
} Incoming;

struct GrpcCaller {
        GrpcConnection connection;
        Incoming incoming;
        int32_t answered; /* the stream of the call that is being answered; 0: none, or it was given up */
        int error;        /* of the connection, while a handler ran */
        unsigned frames;
};

static void incoming_done(Incoming *i) {
        headers_done(&i->headers);
        grpc_body_done(&i->body);
        *i = (Incoming){ 0 };
}

static void caller_done(GrpcCaller *c) {
        incoming_done(&c->incoming);
        connection_done(&c->connection);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *userdata) {
        GrpcCaller *c = userdata;

        if (frame->type == NGHTTP2_DATA && frame->length > 0)
                return 0;
        if (++c->frames <= FRAMES_MAX)
                return 0;
        return nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* nghttp2 refuses a second stream that is open at the same time. */
static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *userdata) {
        GrpcCaller *c = userdata;

        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
                return 0;
        incoming_done(&c->incoming);
        c->incoming.stream = frame->hd.stream_id;
        c->incoming.start_usec = now_monotonic_usec();
        return 0;
}

static int on_request_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                             void *userdata) {
        GrpcCaller *c = userdata;
        int r;

        if (frame->hd.stream_id != c->incoming.stream || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
                return 0;
        r = headers_take(&c->incoming.headers, name, name_size, value, value_size);
        return r < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_request_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t size,
                           void *userdata) {
        GrpcCaller *c = userdata;
        int r;

        if (stream != c->incoming.stream)
                return 0;
        r = grpc_body_add(&c->incoming.body, data, size);
        return r < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_request_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata) {
        GrpcCaller *c = userdata;

        if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && frame->hd.stream_id == c->incoming.stream)
                c->incoming.complete = true;
        return 0;
}

static int on_request_close(nghttp2_session *session, int32_t stream, uint32_t error, void *userdata) {
        GrpcCaller *c = userdata;

        if (stream == c->answered)
                c->answered = 0;
        else if (stream == c->incoming.stream)
                incoming_done(&c->incoming);
        return 0;
}

static const ConnectionCallbacks server_callbacks = {
        .begin_frame = on_begin_frame,
        .begin_headers = on_begin_headers,
        .header = on_request_header,
        .data = on_request_data,
        .frame = on_request_frame,
        .close = on_request_close,
};

bool grpc_caller_is_gone(GrpcCaller *c) {
        if (c->answered != 0 && c->error == 0)
                c->error = connection_receive(&c->connection);
        if (c->error == 0)
                c->error = connection_send(&c->connection);
        return c->answered == 0 || c->error < 0 || connection_is_over(&c->connection);
}

int grpc_caller_fd(const GrpcCaller *c) {
        return c->connection.fd;
}

/* Waits for the client, receives, and sends. Returns 1 if stop can be read. */
static int await_frames(GrpcCaller *c, int stop) {
        int r;

        if (connection_is_over(&c->connection))
                return -ECONNRESET;
        r = connection_wait(&c->connection, stop, now_monotonic_usec() + IDLE_SEC * USEC_PER_SEC);
        if (r != 0)
                return r;
        r = connection_receive(&c->connection);
        return r < 0 ? r : connection_send(&c->connection);
}

static bool is_method_valid(const char *path) {
        if (!path || path[0] != '/')
                return false;
        for (const char *p = path; *p; p++)
                if (*p <= ' ' || *p > '~')
                        return false;
        return true;
}

/* Returns the HTTP status of the answer; all but 200 are for clients that do not speak gRPC. */
static const char *judge_http(const Headers *h) {
        if (headers_are_too_large(h))
                return "200";
        if (!streq_ptr(h->values[HEADER_METHOD], "POST"))
                return "405";
        return grpc_content_type_is_valid(strempty(h->values[HEADER_CONTENT_TYPE])) ? "200" : "415";
}

static int refuse_body(const Incoming *call, GrpcReply *ret) {
        switch (call->body.state) {
        case GRPC_BODY_TOO_LARGE:
                return grpc_reply_set(ret, GRPC_RESOURCE_EXHAUSTED, "The request is larger than 4 MiB.");
        case GRPC_BODY_COMPRESSED:
                if (streq(call->headers.values[HEADER_ENCODING] ?: "identity", "identity"))
                        return grpc_reply_set(ret, GRPC_INTERNAL,
                                              "The request is compressed, and its headers do not say how.");
                return grpc_reply_set(ret, GRPC_UNIMPLEMENTED, "The request is compressed, which is not supported.");
        default:
                return grpc_reply_set(ret, GRPC_INTERNAL, "The request is not exactly one message.");
        }
}

/* Makes the request that the handler gets, or sets the reply's code. Returns 0 or -ENOMEM. */
static int read_call(const Incoming *call, GrpcRequest *q, GrpcReply *ret) {
        char *const *values = call->headers.values;
        uint64_t timeout_usec;

        if (headers_are_too_large(&call->headers))
                return grpc_reply_set(ret, GRPC_RESOURCE_EXHAUSTED, "The headers are larger than 64 KiB.");
        if (!is_method_valid(values[HEADER_PATH]))
                return grpc_reply_set(ret, GRPC_UNIMPLEMENTED, "The path is not the name of a method.");
        if (call->body.state != GRPC_BODY_COMPLETE)
                return refuse_body(call, ret);
        q->method = values[HEADER_PATH];
        q->message = call->body.message.data;
        q->size = call->body.message.size;
        q->deadline_usec = UINT64_MAX;
        if (!values[HEADER_TIMEOUT])
                return 0;
        if (grpc_timeout_parse(values[HEADER_TIMEOUT], &timeout_usec) < 0)
                return grpc_reply_set(ret, GRPC_INTERNAL, "The header grpc-timeout is not a time.");
        q->deadline_usec = call->start_usec + timeout_usec;
        return 0;
}

static int make_reply(GrpcCaller *c, const Incoming *call, GrpcHandler handler, void *userdata, GrpcReply *ret) {
        GrpcRequest q = { .caller = c };
        int r;

        r = read_call(call, &q, ret);
        if (r < 0 || ret->code != GRPC_OK)
                return r;
        r = handler(&q, ret, userdata);
        if (r == 0)
                return 0;
        grpc_reply_done(ret);
        return grpc_reply_set(ret, GRPC_INTERNAL, "The call failed: %s", strerror(-r));
}

/* An answer on its way out. */
typedef struct Answer {
        Outgoing message;
        HeaderList trailers;
        char status[12], *text;
} Answer;

static void answer_done(Answer *a) {
        free(a->text);
}

static int answer_prepare(Answer *a, const GrpcReply *reply) {
        (void) snprintf(a->status, sizeof(a->status), "%u", reply->code);
        if (!isempty(reply->text)) {
                a->text = grpc_text_escape(reply->text);
                if (!a->text)
                        return -ENOMEM;
        }
        outgoing_start(&a->message, reply->message.data, reply->message.size);
        return 0;
}

static void add_status(HeaderList *list, const Answer *a, const GrpcReply *reply) {
        header_list_add(list, HEADER_GRPC_STATUS, a->status);
        header_list_add(list, HEADER_GRPC_MESSAGE, a->text);
        header_list_add(list, HEADER_GRPC_DETAILS, reply->details);
}

static ssize_t on_read_answer(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room, uint32_t *flags,
                              nghttp2_data_source *source, void *userdata) {
        Answer *a = source->ptr;
        bool end;
        size_t n = outgoing_read(&a->message, buffer, room, &end);

        if (!end)
                return (ssize_t) n;
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, stream, a->trailers.list, a->trailers.n) < 0)
                return NGHTTP2_ERR_CALLBACK_FAILURE;
        return (ssize_t) n;
}

/* Without a message the status is among the headers. */
static int submit_answer(GrpcCaller *c, Answer *a, const char *http_status, const GrpcReply *reply) {
        const nghttp2_data_provider provider = { .source.ptr = a, .read_callback = on_read_answer };
        bool has_message = reply->code == GRPC_OK;
        HeaderList headers = { .n = 0 };
        int r;

        header_list_add(&headers, HEADER_STATUS, http_status);
        header_list_add(&headers, HEADER_CONTENT_TYPE, "application/grpc");
        header_list_add(&headers, HEADER_ACCEPT_ENCODING, "identity");
        add_status(has_message ? &a->trailers : &headers, a, reply);
        r = nghttp2_submit_response(c->connection.session, c->answered, headers.list, headers.n,
                                    has_message ? &provider : NULL);
        return r < 0 ? -ENOMEM : 0;
}

static int send_answer(GrpcCaller *c, const char *http_status, const GrpcReply *reply) {
        _cleanup_(answer_done) Answer a = { .text = NULL };
        int r;

        r = answer_prepare(&a, reply);
        if (r < 0)
                return r;
        r = submit_answer(c, &a, http_status, reply);
        if (r == 0)
                r = connection_send(&c->connection);
        while (r == 0 && c->answered != 0)
                r = await_frames(c, -1);
        return r;
}

static int answer_call(GrpcCaller *c, GrpcHandler handler, void *userdata) {
        /* The client may give the call up and begin the next one while this one is answered. */
        _cleanup_(incoming_done) Incoming call = TAKE_STRUCT(c->incoming);
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        const char *http_status = judge_http(&call.headers);
        int r = 0;

        c->answered = call.stream;
        if (!streq(http_status, "200"))
                r = grpc_reply_set(&reply, GRPC_INTERNAL, "The request is not of gRPC.");
        else
                r = make_reply(c, &call, handler, userdata, &reply);
        if (r < 0 || c->error < 0)
                return r < 0 ? r : c->error;
        if (c->answered == 0)
                return 0;
        r = send_answer(c, http_status, &reply);
        c->frames = 0;
        return r;
}

int grpc_serve(int fd, int stop, GrpcHandler handler, void *userdata) {
        _cleanup_(caller_done) GrpcCaller c = { .error = 0 };
        int r;

        r = connection_start(&c.connection, fd, true, &server_callbacks, &c);
        if (r == 0)
                r = connection_send(&c.connection);
        while (r == 0) {
                bool at_rest = c.incoming.stream == 0 && !connection_is_sending(&c.connection);

                r = await_frames(&c, at_rest ? stop : -1);
                while (r == 0 && c.incoming.complete)
                        r = answer_call(&c, handler, userdata);
        }
        if (r > 0 || r == -ETIMEDOUT) {
                (void) nghttp2_session_terminate_session(c.connection.session, NGHTTP2_NO_ERROR);
                (void) connection_send(&c.connection);
        }
        return r > 0 || r == -ETIMEDOUT || r == -ECONNRESET ? 0 : r;
}

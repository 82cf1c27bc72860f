/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "grpc/grpc-server.h"

/* The input is what a client sends after the preface of HTTP/2. What a handler gets is a call, and the
 * connection ends when the client has nothing more to say. */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum { INPUT_MAX = 64 * 1024 };

static int answer(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        assert(q->method[0] == '/' && q->size <= GRPC_MESSAGE_MAX);
        for (const char *p = q->method; *p; p++)
                assert(*p > ' ' && *p <= '~');
        /* The first byte of the message says what the handler does. */
        switch (q->size > 0 ? q->message[0] : 0) {
        case '0':
                return grpc_reply_set(ret, GRPC_ABORTED, "%.*s", (int) q->size, (const char *) q->message);
        case '1':
                return grpc_caller_is_gone(q->caller) ? -ECANCELED : 0;
        default:
                return grpc_bytes_append(&ret->message, q->message, q->size);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fds[2];

        if (size > INPUT_MAX)
                return 0;
        assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        assert(send(fds[0], PREFACE, strlen(PREFACE), 0) == (ssize_t) strlen(PREFACE));
        assert(send(fds[0], data, size, 0) == (ssize_t) size);
        assert(shutdown(fds[0], SHUT_WR) == 0);
        assert(grpc_serve(fds[1], -1, answer, NULL) <= 0);
        close(fds[0]);
        close(fds[1]);
        return 0;
}

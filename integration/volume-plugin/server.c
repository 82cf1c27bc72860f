/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/socket.h>

#include <microhttpd.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "volume-plugin/protocol.h"
#include "volume-plugin/server.h"

enum { CONNECTIONS_MAX = 128, CONNECTION_SEC = 10, CONNECTION_MEMORY = 16384, BODY_MAX = 65536 };

/* What a client has sent of a request; beyond BODY_MAX it is only counted. */
typedef struct Body {
        size_t size;
        char text[BODY_MAX];
} Body;

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, char *text) {
        struct MHD_Response *response;
        enum MHD_Result result = MHD_NO;

        if (!text)
                return MHD_NO;
        response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
        if (!response) {
                free(text);
                return MHD_NO;
        }
        /* Whoever stays connected keeps a place that others may need. */
        if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, PROTOCOL_TYPE) == MHD_YES)
                result = MHD_queue_response(c, status, response);
        MHD_destroy_response(response);
        return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *message) {
        return answer(c, status, protocol_refusal(message));
}

/* The socket's mode is not all that keeps others away: it may have been passed on. */
static bool is_peer_trusted(struct MHD_Connection *c) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return info && getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0 &&
               peer.uid == geteuid();
}

static enum MHD_Result answer_request(struct MHD_Connection *c, const Plugin *p, const char *url, const Body *body) {
        char *text = NULL;
        int r;

        /* The time-out is for clients that do nothing; this one waits. */
        if (MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U) != MHD_YES)
                return MHD_NO;
        r = protocol_answer(p, url, body->text, body->size, &text);
        if (MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned) CONNECTION_SEC) != MHD_YES) {
                free(text);
                return MHD_NO;
        }
        return r < 0 ? MHD_NO : answer(c, (unsigned) r, text);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state) {
        Body *body = *state;

        if (!body) {
                if (!is_peer_trusted(c))
                        return refuse(c, MHD_HTTP_FORBIDDEN, "Only root is answered.");
                if (!streq(method, MHD_HTTP_METHOD_POST))
                        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only POST is answered.");
                body = calloc(1, sizeof(Body));
                *state = body;
                return body ? MHD_YES : MHD_NO;
        }
        if (*upload_size > 0) {
                if (body->size + *upload_size <= BODY_MAX)
                        memcpy(body->text + body->size, upload, *upload_size);
                body->size += *upload_size;
                *upload_size = 0;
                return MHD_YES;
        }
        if (body->size > BODY_MAX)
                return refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, "The request is larger than 64 KiB.");
        return answer_request(c, userdata, url, body);
}

static void on_completed(void *userdata, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode code) {
        free(*state);
        *state = NULL;
}

int server_run(int fd, const Plugin *p) {
        struct MHD_Daemon *daemon;

        daemon =
                MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0,
                                 NULL, NULL, on_request, (void *) p, MHD_OPTION_LISTEN_SOCKET, fd,
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) CONNECTION_SEC,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_MEMORY, MHD_OPTION_END);
        if (!daemon)
                return -EIO;
        for (;;)
                pause();
}

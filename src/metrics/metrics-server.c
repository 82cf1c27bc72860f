/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <microhttpd.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "metrics/metrics-server.h"

enum { TEXTFILE_AGE_SEC = 30, TEXTFILE_MAX = 4 << 20 };
enum { CONNECTIONS_MAX = 32, CONNECTION_SEC = 10, CONNECTION_MEMORY = 16384, SWEEP_MSEC = 1000 };

typedef struct Client {
        int fd;
        uint64_t since_usec; /* CLOCK_MONOTONIC; 0: a free slot */
} Client;

typedef struct MetricsServer {
        const char *path;
        Client clients[CONNECTIONS_MAX];
} MetricsServer;

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type, const char *text,
                                     size_t size) {
        struct MHD_Response *response = MHD_create_response_from_buffer(size, (void *) text, MHD_RESPMEM_MUST_COPY);
        enum MHD_Result result = MHD_NO;

        if (!response)
                return MHD_NO;
        /* A client that stays connected between scrapes would keep a slot that others may need. */
        if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
            (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
             MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES))
                result = MHD_queue_response(c, status, response);
        MHD_destroy_response(response);
        return result;
}

static enum MHD_Result send_error(struct MHD_Connection *c, unsigned status, const char *text) {
        return send_response(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* Returns 0, or a negative errno: -ESTALE if selvold has not written the file for TEXTFILE_AGE_SEC, -EFBIG if
 * the file is larger than TEXTFILE_MAX. The caller frees *ret. */
static int read_textfile(const char *path, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        _cleanup_free_ char *text = NULL;
        size_t size, done = 0;
        struct stat st;
        ssize_t n;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size > TEXTFILE_MAX)
                return -EFBIG;
        if (timespec_nsec(&st.st_mtim) + TEXTFILE_AGE_SEC * NSEC_PER_SEC < clock_nsec(CLOCK_REALTIME))
                return -ESTALE;
        size = (size_t) st.st_size;
        text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        while ((n = read(fd, text + done, size - done)) > 0)
                done += (size_t) n;
        if (n < 0)
                return -errno;

        *ret = TAKE_PTR(text);
        *ret_size = done;
        return 0;
}

static enum MHD_Result on_http_request(void *userdata, struct MHD_Connection *c, const char *url, const char *method,
                                       const char *version, const char *upload, size_t *upload_size, void **state) {
        const MetricsServer *s = userdata;
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r;

        if (!streq(url, "/metrics"))
                return send_error(c, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics.\n");
        if (!streq(method, MHD_HTTP_METHOD_GET) && !streq(method, MHD_HTTP_METHOD_HEAD))
                return send_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.\n");
        r = read_textfile(s->path, &text, &size);
        if (r == -ENOENT)
                return send_error(
                        c, MHD_HTTP_SERVICE_UNAVAILABLE,
                        "There are no metrics: selvold is not running, or MetricsTextfile= names another file. See systemctl status selvold.\n");
        if (r == -ESTALE)
                return send_error(
                        c, MHD_HTTP_SERVICE_UNAVAILABLE,
                        "The metrics are old: selvold no longer writes them. See systemctl status selvold.\n");
        if (r < 0)
                return send_error(
                        c, MHD_HTTP_SERVICE_UNAVAILABLE,
                        "The metrics can't be read: see MetricsTextfile= in selvol.conf(5) and ExecStart= of selvol-metrics.service.\n");
        return send_response(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, size);
}

/* If all slots are used, ends the oldest connection, which has had time to send its request; the new client
 * may be Prometheus. */
static void end_oldest(const MetricsServer *s) {
        const Client *oldest = &s->clients[0];

        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
                if (s->clients[i].since_usec == 0)
                        return;
                if (s->clients[i].since_usec < oldest->since_usec)
                        oldest = &s->clients[i];
        }
        (void) shutdown(oldest->fd, SHUT_RDWR);
}

static void on_client(void *userdata, struct MHD_Connection *c, void **state,
                      enum MHD_ConnectionNotificationCode code) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        MetricsServer *s = userdata;

        if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
                if (*state)
                        *(Client *) *state = (Client){ 0 };
                return;
        }
        for (size_t i = 0; info && i < CONNECTIONS_MAX; i++)
                if (s->clients[i].since_usec == 0) {
                        s->clients[i] = (Client){ .fd = info->connect_fd, .since_usec = now_monotonic_usec() };
                        *state = &s->clients[i];
                        end_oldest(s);
                        return;
                }
}

/* libmicrohttpd ends an idle connection, but not one that sends a byte from time to time. */
static void end_overdue(MetricsServer *s) {
        uint64_t now = now_monotonic_usec();

        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                if (s->clients[i].since_usec > 0 && s->clients[i].since_usec + CONNECTION_SEC * USEC_PER_SEC <= now)
                        (void) shutdown(s->clients[i].fd, SHUT_RDWR);
}

int serve_metrics(int fd, const char *path) {
        MetricsServer server = { .path = path };
        struct MHD_Daemon *daemon;

        daemon =
                MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_http_request, &server, MHD_OPTION_LISTEN_SOCKET, fd,
                                 MHD_OPTION_NOTIFY_CONNECTION, on_client, &server, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) CONNECTION_SEC,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_MEMORY, MHD_OPTION_END);
        if (!daemon)
                return -EIO;
        while (MHD_run_wait(daemon, SWEEP_MSEC) == MHD_YES)
                end_overdue(&server);
        MHD_stop_daemon(daemon);
        return -EIO;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An HTTP client talks to selvol-metrics. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "support/cases.h"
#include "support/files.h"
#include "support/service.h"

#define TEXT "# TYPE x counter\nx 1\n"

enum { CONNECTIONS_MAX = 32 };

typedef struct Fixture {
        char *directory, *path;
        struct sockaddr_in address;
        GPid server;
} Fixture;

static void fixture_set_up(Fixture *f, gconstpointer data) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t size = sizeof(f->address);
        g_autoptr(GError) error = NULL;

        f->directory = g_dir_make_tmp("selvol-metrics-XXXXXX", &error);
        g_assert_no_error(error);
        f->path = g_build_filename(f->directory, "selvol.prom", NULL);
        f->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        g_assert_cmpint(bind(fd, (struct sockaddr *) &f->address, size), ==, 0);
        g_assert_cmpint(getsockname(fd, (struct sockaddr *) &f->address, &size), ==, 0);
        g_assert_cmpint(listen(fd, 128), ==, 0);
        f->server = launch(&(Launch){ .wrapper = socket_activation, .inherited = fd }, g_getenv("SELVOL_METRICS"),
                           f->path, NULL);
        close(fd);
}

/* The server must still be alive. */
static void fixture_tear_down(Fixture *f, gconstpointer data) {
        g_assert_cmpint(program_get_end(f->server), ==, -1);
        g_assert_cmpint(program_end(f->server, SIGTERM), ==, SIGTERM);
        tree_remove(f->directory);
        g_free(f->directory);
        g_free(f->path);
}

static int connect_to(const Fixture *f) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_assert_cmpint(connect(fd, (const struct sockaddr *) &f->address, sizeof(f->address)), ==, 0);
        return fd;
}

static void write_metrics(const Fixture *f, const char *text, gint64 age_sec) {
        struct timespec times[2] = { { .tv_sec = g_get_real_time() / G_USEC_PER_SEC - age_sec } };

        times[1] = times[0];
        file_write(f->path, text);
        g_assert_cmpint(utimensat(AT_FDCWD, f->path, times, 0), ==, 0);
}

static void assert_answer(const Fixture *f, const char *request, const char *status, const char *body) {
        g_autofree char *reply = socket_ask(connect_to(f), request, strlen(request));
        const char *end = strstr(reply, "\r\n\r\n");

        if (!g_str_has_prefix(reply, status) || !end)
                g_error("%s was answered with %s", request, reply);
        if (body)
                g_assert_cmpstr(end + 4, ==, body);
}

#define REQUEST(line) line " HTTP/1.1\r\nHost: localhost\r\n\r\n"

TEST_FIXTURE(test_requests, "/metrics-server/requests") {
        static const struct {
                const char *request, *status, *body;
        } rows[] = {
                { REQUEST("GET /metrics"), "HTTP/1.1 200 ", TEXT },
                { REQUEST("HEAD /metrics"), "HTTP/1.1 200 ", "" },
                { REQUEST("GET /metrics?a=b"), "HTTP/1.1 200 ", TEXT },
                { "GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.", TEXT },
                { REQUEST("GET /"), "HTTP/1.1 404 ", NULL },
                { REQUEST("GET /metrics/"), "HTTP/1.1 404 ", NULL },
                { REQUEST("GET /../etc/passwd"), "HTTP/1.1 404 ", NULL },
                { REQUEST("PUT /metrics"), "HTTP/1.1 405 ", NULL },
                { "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\nx", "HTTP/1.1 405 ", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                write_metrics(f, TEXT, 0);
                assert_answer(f, rows[i].request, rows[i].status, rows[i].body);
        }
}

/* Without fresh metrics the answer is an error, so that Prometheus does not believe old numbers. */
TEST_FIXTURE(test_no_metrics, "/metrics-server/no-metrics") {
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 503 ", NULL);
        write_metrics(f, TEXT, 60);
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 503 ", NULL);
        write_metrics(f, TEXT, 5);
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 200 ", TEXT);
        g_assert_cmpint(g_unlink(f->path), ==, 0);
        g_assert_cmpint(g_mkdir(f->path, 0755), ==, 0);
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 503 ", NULL);
        g_assert_cmpint(g_rmdir(f->path), ==, 0);
        g_assert_cmpint(mkfifo(f->path, 0644), ==, 0);
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 503 ", NULL);
}

/* Bytes that are no HTTP, or too many bytes, end only that connection. */
TEST_FIXTURE(test_garbage, "/metrics-server/garbage") {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        g_autofree char *large = g_strnfill(1 << 20, 'a');

        for (unsigned i = 0; i < 200; i++) {
                char bytes[256];
                gsize n = (gsize) g_rand_int_range(rand, 1, sizeof(bytes) - 4);
                g_autofree char *reply = NULL;

                for (gsize k = 0; k < n; k++)
                        bytes[k] = (char) g_rand_int(rand);
                memcpy(bytes + n, "\r\n\r\n", 4);
                write_metrics(f, TEXT, 0);
                reply = socket_ask(connect_to(f), bytes, n + 4);
                g_assert_null(strstr(reply, " 200 "));
        }
        g_free(socket_ask(connect_to(f), large, 1 << 20));
        write_metrics(f, TEXT, 0);
        assert_answer(f, REQUEST("GET /metrics"), "HTTP/1.1 200 ", TEXT);
}

static gboolean is_open(int fd) {
        char c;

        return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Busy clients have all places. A new client gets the place of the client who was there first, before the
 * time of the others is over. */
TEST_FIXTURE(test_slow_clients, "/metrics-server/slow-clients") {
        int slow[CONNECTIONS_MAX + 8], waiting, others = 0;
        struct pollfd poll_waiting;
        char text[16];

        for (gsize i = 0; i < G_N_ELEMENTS(slow); i++)
                slow[i] = connect_to(f);
        waiting = connect_to(f);
        write_metrics(f, TEXT, 0);
        g_assert_cmpint(send(waiting, REQUEST("GET /metrics"), strlen(REQUEST("GET /metrics")), 0), >, 0);
        poll_waiting = (struct pollfd){ .fd = waiting, .events = POLLIN };
        do {
                for (gsize i = 0; i < G_N_ELEMENTS(slow); i++)
                        (void) send(slow[i], "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
                write_metrics(f, TEXT, 0);
        } while (poll(&poll_waiting, 1, 500) == 0);
        for (gsize i = 0; i < CONNECTIONS_MAX; i++)
                others += is_open(slow[i]);
        g_assert_cmpint(others, >=, CONNECTIONS_MAX / 2);
        g_assert_cmpint(recv(waiting, text, sizeof(text), 0), ==, sizeof(text));
        g_assert_cmpmem(text, 12, "HTTP/1.1 200", 12);
        for (gsize i = 0; i < G_N_ELEMENTS(slow); i++)
                close(slow[i]);
        close(waiting);
}

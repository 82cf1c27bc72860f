/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "http.h"
#include "fuzz.h"
#include "metrics/metrics-server.h"

/* The input is all that a client of selvol-metrics sends. The answer is the metrics or a refusal, and the
 * next client gets the metrics. */

#define TEXT "# TYPE x counter\nx 1\n"
#define GOOD "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

static char directory[] = "/dev/shm/selvol-fuzz-XXXXXX", path[sizeof(directory) + sizeof("/selvol.prom")];

static void clean_up(void) {
        (void) unlink(path);
        (void) rmdir(directory);
}

static int serve(int fd) {
        return serve_metrics(fd, path);
}

/* The file is never too old: it is of the future. */
static void prepare(void) {
        const struct timespec times[] = { { .tv_sec = INT32_MAX }, { .tv_sec = INT32_MAX } };
        int fd;

        if (path[0])
                return;
        assert(mkdtemp(directory));
        (void) snprintf(path, sizeof(path), "%s/selvol.prom", directory);
        assert(atexit(clean_up) == 0);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert(fd >= 0 && write(fd, TEXT, strlen(TEXT)) == (ssize_t) strlen(TEXT) && futimens(fd, times) == 0);
        close(fd);
        http_start(serve);
}

/* An answer to HEAD has no body. */
static void check_answer(const char *answer, size_t size) {
        const char *body;
        unsigned status = http_read(answer, &body);

        /* libmicrohttpd itself refuses what is no HTTP. */
        if (status == 0 || !strstr(answer, "\r\nContent-Type: text/plain"))
                return;
        assert(strlen(answer) == size && strstr(answer, "\r\nConnection: close\r\n"));
        assert(status == 200 || status == 404 || status == 405);
        assert(isempty(body) || streq(body, TEXT) == (status == 200));
        assert(status != 405 || strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *answer = NULL, *good = NULL;
        const char *body;
        size_t n;

        prepare();
        answer = http_ask(data, size, &n);
        check_answer(answer, n);
        good = http_ask(GOOD, strlen(GOOD), &n);
        assert(http_read(good, &body) == 200 && streq(body, TEXT));
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/string-util.h"
#include "http.h"

enum { ANSWER_MAX = 64 * 1024 };

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_size = sizeof(address);
static int (*server)(int fd);

static void *run_server(void *fd) {
        (void) server(*(const int *) fd);
        assert(false);
        return NULL;
}

void http_start(int (*serve)(int fd)) {
        static int fd;
        pthread_t thread;

        if (server)
                return;
        server = serve;
        (void) signal(SIGPIPE, SIG_IGN);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        /* The kernel chooses a name that is in no directory. */
        assert(fd >= 0 && bind(fd, (struct sockaddr *) &address, sizeof(sa_family_t)) == 0);
        assert(getsockname(fd, (struct sockaddr *) &address, &address_size) == 0 && listen(fd, SOMAXCONN) == 0);
        assert(pthread_create(&thread, NULL, run_server, &fd) == 0 && pthread_detach(thread) == 0);
}

/* libmicrohttpd with epoll(7) waits for a time-out if a request that is cut arrives together with its end. */
static void send_request(int fd, const void *request, size_t size) {
        int left;

        /* The server may have closed the connection before it has read everything. */
        (void) send(fd, request, size, MSG_NOSIGNAL);
        while (ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0)
                sched_yield();
        (void) shutdown(fd, SHUT_WR);
}

char *http_ask(const void *request, size_t size, size_t *ret_size) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char *answer = malloc(ANSWER_MAX + 1);
        size_t n = 0;
        ssize_t k;

        assert(fd >= 0 && answer && connect(fd, (struct sockaddr *) &address, address_size) == 0);
        send_request(fd, request, size);
        while ((k = recv(fd, answer + n, ANSWER_MAX - n, 0)) > 0)
                n += (size_t) k;
        assert(n < ANSWER_MAX);
        close(fd);
        answer[n] = '\0';
        *ret_size = n;
        return answer;
}

unsigned http_read(const char *answer, const char **ret_body) {
        unsigned status;

        do {
                if (sscanf(answer, "HTTP/1.%*1[01] %3u ", &status) != 1)
                        return 0;
                answer = strstr(answer, "\r\n\r\n");
                assert(answer);
                answer += strlen("\r\n\r\n");
        } while (status < 200);
        *ret_body = answer;
        return status;
}

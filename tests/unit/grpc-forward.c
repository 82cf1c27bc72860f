/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/string-util.h"
#include "grpc/grpc-client.h"
#include "grpc/grpc-server.h"

/* grpc-forward LISTEN SOCKET: forwards the calls of those who connect to one path to the server at the
 * other, for test-grpc.py. It says "ready" when it listens. */

static const char *server;

static int forward(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        return grpc_call(server, q, ret);
}

static void *serve(void *userdata) {
        int fd = (int) (intptr_t) userdata, r;

        r = grpc_serve(fd, forward, NULL);
        if (r < 0)
                fprintf(stderr, "# A connection ended with %s.\n", strerror(-r));
        close(fd);
        return NULL;
}

int main(int argc, char **argv) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        pthread_t thread;
        int fd;

        if (argc != 3 || strlen(argv[1]) >= sizeof(address.sun_path))
                return EXIT_FAILURE;
        server = argv[2];
        memcpy(address.sun_path, argv[1], strlen(argv[1]));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0)
                return EXIT_FAILURE;
        puts("ready");
        fflush(stdout);
        for (;;) {
                int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

                if (connection >= 0 && pthread_create(&thread, NULL, serve, (void *) (intptr_t) connection) == 0)
                        pthread_detach(thread);
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/time-util.h"
#include "fuzz.h"
#include "grpc/grpc-client.h"

/* The input is all that a server sends. Whatever it is, it is a status. */

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static char directory[] = "/dev/shm/selvol-fuzz-XXXXXX";
static int listener;

static const uint8_t *input;
static size_t input_size;
static sem_t served; /* the server is done with the input */

static void clean_up(void) {
        (void) unlink(address.sun_path);
        (void) rmdir(directory);
}

static void *run_server(void *userdata) {
        char rest[4096];

        for (;;) {
                int fd = accept(listener, NULL, NULL);
                size_t sent = 0;
                ssize_t n = 1;

                assert(fd >= 0);
                for (; n > 0 && sent < input_size; sent += (size_t) n)
                        n = send(fd, input + sent, input_size - sent, MSG_NOSIGNAL);
                (void) shutdown(fd, SHUT_WR);
                while (recv(fd, rest, sizeof(rest), 0) > 0)
                        ;
                close(fd);
                assert(sem_post(&served) == 0);
        }
        return NULL;
}

static void prepare(void) {
        pthread_t thread;

        if (address.sun_path[0] != '\0')
                return;
        assert(mkdtemp(directory) && sem_init(&served, 0, 0) == 0);
        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert(listener >= 0 && bind(listener, (struct sockaddr *) &address, sizeof(address)) == 0);
        assert(listen(listener, SOMAXCONN) == 0 && atexit(clean_up) == 0);
        assert(pthread_create(&thread, NULL, run_server, NULL) == 0 && pthread_detach(thread) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const GrpcRequest q = {
                .method = "/a.Service/Method",
                .message = (const uint8_t *) "message",
                .size = 7,
                .deadline_usec = now_monotonic_usec() + 60 * USEC_PER_SEC,
        };
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };

        prepare();
        input = data;
        input_size = size;
        assert(grpc_call(address.sun_path, &q, &reply) == 0);
        /* libFuzzer has a timer */
        while (sem_wait(&served) < 0)
                assert(errno == EINTR);
        assert(reply.code < GRPC_CODES);
        assert(reply.message.size <= GRPC_MESSAGE_MAX);
        assert(!reply.details ||
               strspn(reply.details, "+/=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") ==
                       strlen(reply.details));
        return 0;
}

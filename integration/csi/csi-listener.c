/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "basic/log.h"
#include "csi/csi-listener.h"

enum { CONNECTIONS_MAX = 64 };

typedef struct Listener {
        GrpcHandler handler;
        void *userdata;
        int stop;
        int ended; /* an eventfd that counts the connections that have ended */
        unsigned connections;
} Listener;

typedef struct CsiClient {
        const Listener *listener;
        int fd;
} CsiClient;

static void *serve_client(void *userdata) {
        CsiClient *c = userdata;
        const uint64_t one = 1;
        int ended = c->listener->ended, r;

        r = grpc_serve(c->fd, c->listener->stop, c->listener->handler, c->listener->userdata);
        if (r < 0)
                log_debug("A client lost its connection: %s", strerror(-r));
        fd_close(c->fd);
        free(c);
        /* Calls of selvold take memory in small parts. */
        (void) malloc_trim(0);
        /* The listener may be gone after this. */
        (void) !write(ended, &one, sizeof(one));
        return NULL;
}

/* The mode of the socket is not the only protection: a process may have passed the socket on. */
static bool is_client_trusted(int fd) {
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0 && (peer.uid == 0 || peer.uid == geteuid());
}

static int start_client(Listener *l, int fd) {
        CsiClient *c = malloc(sizeof(CsiClient));
        pthread_t thread;
        int r;

        if (!c)
                return -ENOMEM;
        *c = (CsiClient){ .listener = l, .fd = fd };
        r = pthread_create(&thread, NULL, serve_client, c);
        if (r != 0) {
                free(c);
                return -r;
        }
        pthread_detach(thread);
        l->connections++;
        return 0;
}

static void accept_client(Listener *l, int fd) {
        _cleanup_close_ int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        int r;

        if (client < 0 || !is_client_trusted(client))
                return;
        r = start_client(l, client);
        if (r < 0)
                (void) log_error_errno(r, "Failed to serve a client: %m");
        else
                TAKE_FD(client);
}

static void count_ended(Listener *l) {
        uint64_t n = 0;

        if (read(l->ended, &n, sizeof(n)) == sizeof(n))
                l->connections -= (unsigned) n;
}

static int serve_clients(Listener *l, int fd) {
        bool stopping = false;

        while (!stopping || l->connections > 0) {
                struct pollfd fds[] = {
                        { .fd = l->ended, .events = POLLIN },
                        { .fd = stopping ? -1 : l->stop, .events = POLLIN },
                        { .fd = stopping || l->connections >= CONNECTIONS_MAX ? -1 : fd, .events = POLLIN },
                };

                if (poll(fds, ELEMENTSOF(fds), -1) < 0 && errno != EINTR)
                        return -errno;
                if (fds[0].revents)
                        count_ended(l);
                if (fds[1].revents)
                        stopping = true;
                else if (fds[2].revents)
                        accept_client(l, fd);
        }
        return 0;
}

int csi_listen(int fd, int stop, GrpcHandler handler, void *userdata) {
        _cleanup_close_ int ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        Listener l = { .handler = handler, .userdata = userdata, .stop = stop, .ended = ended };

        if (ended < 0)
                return -errno;
        return serve_clients(&l, fd);
}

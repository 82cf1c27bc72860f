/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <sys/socket.h>

#include "worker/child.h"

int child_check_propagation(const Child *c, Failure *f) {
        if (c->propagating)
                return 0;
        return failure_set(
                f, FAILURE_NOT_PROPAGATING,
                "selvol-worker runs in a mount namespace of its own, so its mounts would never reach the host: remove the option of its unit that creates one (ProtectSystem=, PrivateTmp=, and the like).");
}

pid_t child_peer_pid(const Child *c) {
        struct ucred peer = { 0 };
        socklen_t n = sizeof(peer);

        return getsockopt(sd_bus_get_fd(c->bus), SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ? 0 : peer.pid;
}

bool child_peer_is_gone(void *userdata) {
        const Child *c = userdata;
        struct pollfd p = { .fd = sd_bus_get_fd(c->bus), .events = POLLRDHUP };

        return p.fd < 0 || (poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}

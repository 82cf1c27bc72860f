/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/time-util.h"
#include "wire/names.h"
#include "wire/peer.h"

int peer_connect(const char *socket_path, sd_event *event, sd_bus **ret) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_(sd_bus_close_unrefp) sd_bus *peer = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (strlen(socket_path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, socket_path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        r = sd_bus_new(&peer);
        if (r < 0)
                return r;
        r = sd_bus_negotiate_fds(peer, false);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(peer, fd, fd);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        r = sd_bus_start(peer);
        if (r < 0)
                return r;
        if (event) {
                r = sd_bus_attach_event(peer, event, SD_EVENT_PRIORITY_NORMAL);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(peer);
        return 0;
}

int peer_wait(sd_bus *peer, uint64_t timeout_usec) {
        uint64_t end = now_monotonic_usec() + timeout_usec;
        int r;

        while ((r = sd_bus_is_ready(peer)) == 0) {
                uint64_t now = now_monotonic_usec();

                if (now >= end)
                        return -ETIMEDOUT;
                r = sd_bus_process(peer, NULL);
                if (r == 0)
                        r = sd_bus_wait(peer, end - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        return r < 0 ? r : 0;
}

int peer_prepare(sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *peer = NULL;
        sd_id128_t id;
        int r;

        r = sd_bus_new(&peer);
        if (r >= 0)
                r = sd_id128_randomize(&id);
        if (r >= 0)
                r = sd_bus_set_server(peer, 1, id);
        /* The peer's uid was checked when it connected; there is no bus to ask for credentials. */
        if (r < 0)
                return r;
        r = sd_bus_set_anonymous(peer, 1);
        if (r < 0)
                return r;
        r = sd_bus_set_trusted(peer, 1);
        if (r < 0)
                return r;
        r = sd_bus_negotiate_fds(peer, 0);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(peer);
        return 0;
}

int peer_accept(sd_bus *peer, int fd) {
        int r;

        r = sd_bus_set_fd(peer, fd, fd);
        if (r < 0) {
                fd_close(fd);
                return r;
        }
        r = sd_bus_start(peer);
        return r < 0 ? r : 0;
}

/* The beginning of each message of D-Bus. */
typedef struct MessageHeader {
        uint8_t endian, type, flags, version;
        uint32_t body_size, serial, fields_size;
} MessageHeader;

/* Waits for the next message, and looks at its size: sd-bus allocates memory for all of it when it has read
 * the header. Returns 0 also at the end of the connection, of which sd-bus will tell. */
static int await_message(sd_bus *peer, size_t max) {
        struct pollfd p = { .fd = sd_bus_get_fd(peer), .events = POLLIN };
        MessageHeader h;
        ssize_t n;

        for (;;) {
                if (poll(&p, 1, -1) < 0) {
                        if (errno != EINTR)
                                return -errno;
                        continue;
                }
                n = recv(p.fd, &h, sizeof(h), MSG_PEEK | MSG_DONTWAIT);
                if (n == sizeof(h)) {
                        const bool little = h.endian == 'l';
                        size_t body = little ? le32toh(h.body_size) : be32toh(h.body_size),
                               fields = little ? le32toh(h.fields_size) : be32toh(h.fields_size);

                        return sizeof(h) + (fields + 7) / 8 * 8 + body > max ? -EMSGSIZE : 0;
                }
                if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
                        return 0;
                /* The rest of a header does not wake poll(2). */
                (void) poll(NULL, 0, 10);
        }
}

static int on_answer_of_peer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(sd_bus_message **) userdata = sd_bus_message_ref(m);
        return 1;
}

/* A message that is no answer. */
static int on_stray(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(bool *) userdata = true;
        return 1;
}

int peer_ask(sd_bus *peer, sd_bus_message *call, size_t max, sd_bus_error *error, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *pending = NULL, *filter = NULL;
        bool strayed = false;
        int r;

        /* The answer itself does not pass filters. */
        r = sd_bus_add_filter(peer, &filter, on_stray, &strayed);
        if (r < 0)
                return r;
        r = sd_bus_call_async(peer, &pending, call, on_answer_of_peer, &answer, UINT64_MAX);
        if (r < 0)
                return r;
        r = sd_bus_flush(peer);
        if (r < 0)
                return r;
        r = await_message(peer, max);
        if (r < 0)
                return r;
        while (!answer && !strayed) {
                r = sd_bus_process(peer, NULL);
                if (r == 0)
                        r = sd_bus_wait(peer, UINT64_MAX);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        if (!answer)
                return -EPROTO;
        if (sd_bus_message_is_method_error(answer, NULL))
                return sd_bus_error_copy(error, sd_bus_message_get_error(answer));
        if (ret)
                *ret = TAKE_PTR(answer);
        return 0;
}

void peer_hang_up(sd_bus *peer) {
        (void) shutdown(sd_bus_get_fd(peer), SHUT_WR);
}

sd_bus *peer_disconnect(sd_bus *peer) {
        if (peer)
                (void) sd_bus_detach_event(peer);
        return sd_bus_close_unref(peer);
}

int peer_error_set(sd_bus_error *error, const Failure *f) {
        _cleanup_free_ char *name = strdup_printf(ERROR_PREFIX "%s", strempty(failure_kind_to_string(f->kind)));

        return name ? sd_bus_error_set(error, name, strempty(f->message)) : -ENOMEM;
}

static FailureKind kind_of_error(const sd_bus_error *e) {
        const char *name = e->name ? startswith(e->name, ERROR_PREFIX) : NULL;
        int kind = name ? failure_kind_from_string(name) : -EINVAL;

        return kind > 0 ? (FailureKind) kind : FAILURE_NONE;
}

bool peer_error_is_answer(const sd_bus_error *e) {
        FailureKind kind = kind_of_error(e);

        return kind != FAILURE_NONE && kind != FAILURE_WORKER_FAILED;
}

int peer_error_read(const sd_bus_error *e, Failure *f) {
        FailureKind kind = kind_of_error(e);

        if (kind != FAILURE_NONE)
                return failure_set_received(f, kind, strempty(e->message));
        if (sd_bus_error_has_name(e, SD_BUS_ERROR_UNKNOWN_METHOD))
                return failure_set(
                        f, FAILURE_WORKER_FAILED,
                        "selvol-worker and selvold are of two versions: run 'systemctl restart selvol-worker selvold'.");
        return failure_set(f, FAILURE_WORKER_FAILED,
                           "The worker gave no answer (%s): see journalctl -u selvol-worker.", strempty(e->message));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <time.h>

#include "basic/log.h"
#include "wire/protocol.h"
#include "worker/child.h"
#include "worker/staged.h"
#include "worker/verbs.h"

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(WORKER_OBSERVE, WORKER_OBSERVE_IN, WORKER_OBSERVE_OUT, verb_observe,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MOUNT, WORKER_MOUNT_IN, WORKER_MOUNT_OUT, verb_mount, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_STAGE, WORKER_STAGE_IN, WORKER_STAGE_OUT, verb_stage, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_PUBLISH, WORKER_PUBLISH_IN, WORKER_PUBLISH_OUT, verb_publish,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MAP, WORKER_MAP_IN, WORKER_MAP_OUT, verb_map, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_CHANGE, WORKER_CHANGE_IN, WORKER_CHANGE_OUT, verb_change, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MARK, WORKER_MARK_IN, WORKER_MARK_OUT, verb_mark, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_INSPECT, WORKER_INSPECT_IN, WORKER_INSPECT_OUT, verb_inspect,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_VERIFY, WORKER_VERIFY_IN, WORKER_VERIFY_OUT, verb_verify, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_UNMOUNT, WORKER_UNMOUNT_IN, WORKER_UNMOUNT_OUT, verb_unmount,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_WATCH, WORKER_WATCH_IN, WORKER_WATCH_OUT, verb_watch, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_EXPECT, WORKER_EXPECT_IN, WORKER_EXPECT_OUT, verb_expect, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL(WORKER_CHANGED, WORKER_CHANGED_SIGNATURE, 0),
        SD_BUS_SIGNAL(WORKER_PROGRESS, WORKER_PROGRESS_SIGNATURE, 0),
        SD_BUS_VTABLE_END,
};

int child_finish(const char *verb, const char *target, int r, const Failure *f, sd_bus_error *error) {
        _cleanup_free_ char *path = NULL, *name = NULL;
        const char *message;

        if (r == 0)
                return 1;
        path = string_escape(strempty(target), 200);
        name = strdup_printf(ERROR_PREFIX "%s",
                             strempty(failure_kind_to_string(r > 0 ? f->kind : FAILURE_WORKER_FAILED)));
        if (!path || !name)
                return -ENOMEM;
        message = r > 0 ? strempty(f->message) : strerror(-r);

        const LogField fields[] = { { "SELVOL_TARGET", path }, { "SELVOL_VERB", verb } };
        log_fields(LOG_WARNING, fields, ELEMENTSOF(fields), "%s%s%s failed: %s", verb, path[0] == '\0' ? "" : " of ",
                   path, message);
        if (r < 0)
                return sd_bus_error_setf(error, name, "The worker could not do it: %s.", message);
        return sd_bus_error_set(error, name, message);
}

int child_check_propagation(const Child *c, Failure *f) {
        if (c->propagating)
                return 0;
        return failure_set(
                f, FAILURE_NOT_PROPAGATING,
                "selvol-worker runs in a mount namespace of its own, so its mounts would never reach the host: remove the option of its unit that creates one (ProtectSystem=, PrivateTmp=, and the like).");
}

bool child_peer_is_gone(void *userdata) {
        const Child *c = userdata;
        struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

        return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* The peer's uid was checked by the parent; there are no credentials to ask a bus for. */
static int start_server(sd_bus *bus, int fd) {
        sd_id128_t id;
        int r;

        r = sd_id128_randomize(&id);
        if (r >= 0)
                r = sd_bus_set_server(bus, 1, id);
        if (r >= 0)
                r = sd_bus_set_anonymous(bus, 1);
        if (r >= 0)
                r = sd_bus_set_trusted(bus, 1);
        if (r >= 0)
                r = sd_bus_negotiate_fds(bus, 0);
        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        return r < 0 ? r : 0;
}

static int connect_child(Child *c) {
        int r;

        r = sd_event_new(&c->event);
        if (r >= 0)
                r = sd_bus_new(&c->bus);
        if (r < 0)
                return r;
        r = start_server(c->bus, c->fd);
        if (r < 0)
                return r;

        r = sd_bus_add_object_vtable(c->bus, NULL, WORKER_PATH, WORKER_INTERFACE, vtable, c);
        if (r >= 0)
                r = sd_bus_set_exit_on_disconnect(c->bus, 1);
        if (r >= 0)
                r = sd_bus_start(c->bus);
        if (r >= 0)
                r = sd_bus_attach_event(c->bus, c->event, SD_EVENT_PRIORITY_NORMAL);
        return r;
}

int child_run(int fd, const Settings *settings, const char *stage_directory, bool propagating) {
        Child c = {
                .settings = settings,
                .stage_directory = stage_directory,
                .propagating = propagating,
                .fd = fd,
        };
        int r;

        r = connect_child(&c);
        if (r >= 0)
                r = sd_event_loop(c.event);

        watch_free(c.watch);
        staged_free(c.staged);
        sd_bus_flush_close_unref(c.bus);
        sd_event_unref(c.event);
        /* Hanging up is how a peer ends, at whatever moment. */
        return r < 0 && r != -ECONNRESET && r != -EPIPE && r != -ENOTCONN ? r : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "model/limits.h"
#include "mount/health.h"
#include "wire/peer.h"
#include "wire/protocol.h"
#include "worker/operations.h"
#include "worker/watch.h"

/* What a call was about, for the journal. */
typedef struct CallSubject {
        const char *operation, *target;
} CallSubject;

/* What this process refuses by its own checks, and what breaks in it, is for its own record: selvold is not trusted with
 * it. The rest selvold logs itself, unless it has hung up. */
static int failure_priority(Child *c, FailureKind kind) {
        switch (kind) {
        case FAILURE_PATH_NOT_ALLOWED:
        case FAILURE_TYPE_NOT_ALLOWED:
        case FAILURE_WORKER_FAILED:
                return LOG_WARNING;
        default:
                return child_peer_is_gone(c) ? LOG_WARNING : LOG_DEBUG;
        }
}

static void log_failed(Child *c, const CallSubject *s, const Failure *f) {
        _cleanup_free_ char *target = string_escape(strempty(s->target), 200);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_OPERATION", s->operation },
        };

        log_fields(failure_priority(c, f->kind), fields, ELEMENTSOF(fields), "%s%s%s failed: %s", s->operation,
                   isempty(target) ? "" : " of ", strempty(target), strempty(f->message));
}

/* Ends a call: r is 0 if the reply was sent, a negative errno, or a failure kind with f filled. Returns what a bus method
 * is to return. */
static int finish(Child *c, const CallSubject *s, int r, Failure *f, sd_bus_error *error) {
        (void) sd_event_exit(c->event, 0);
        if (r == 0)
                return 1;
        if (r == -ECANCELED) {
                log_debug("%s ends without a reply.", s->operation);
                return 1;
        }
        /* A file system that is shut down fails at any step. */
        if (r < 0 && r != -ENOTCONN && !isempty(s->target))
                r = health_explain_errno(r, s->target, f);
        if (r < 0) {
                r = failure_set(f, FAILURE_WORKER_FAILED, "The worker failed: %s.", strerror(-r));
                if (r < 0)
                        return r;
        }
        log_failed(c, s, f);
        return peer_error_set(error, f);
}

static int reply_with(sd_bus_message *m, const MessageType *type, const void *result) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = message_append(reply, type, result);
        if (r < 0)
                return r;
        r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 0;
}

static int log_origin(const CallOrigin *origin) {
        _cleanup_free_ char *volume = string_escape(origin->volume, VOLUME_ID_MAX),
                            *job = strdup_printf("%" PRIu64, origin->job);
        const LogField fields[] = { { "SELVOL_VOLUME", volume }, { "SELVOL_JOB", job } };

        return volume && job ? log_set_common_fields(fields, ELEMENTSOF(fields)) : -ENOMEM;
}

/* *ret_call begins with a CallOrigin. */
static int read_call(sd_bus_message *m, const MessageType *type, void *ret_call) {
        int r;

        r = message_read(m, type, ret_call);
        return r < 0 ? r : log_origin(ret_call);
}

/* From here on something may be changed, also when selvold is gone. */
static void enter(Child *c, const char *operation, const char *volume, const char *target) {
        children_enter(c->children, child_peer_pid(c), operation, volume, target);
}

/* on_mount() and the like: the call is read, the operation run, and its result sent. */
#define DEFINE_OPERATION(name, Call, member)                                                     \
        static int run_##name(Child *c, sd_bus_message *m, Call *call, Failure *f) {             \
                _cleanup_(operation_result_done) OperationResult result = OPERATION_RESULT_INIT; \
                int r;                                                                           \
                                                                                                 \
                r = read_call(m, &name##_call_type, call);                                       \
                if (r < 0)                                                                       \
                        return r;                                                                \
                enter(c, member, call->origin.volume, call->target);                             \
                r = operation_##name(c, call, &result, f);                                       \
                if (r != 0)                                                                      \
                        return r;                                                                \
                return reply_with(m, &operation_result_type, &result);                           \
        }                                                                                        \
                                                                                                 \
        static int on_##name(sd_bus_message *m, void *userdata, sd_bus_error *error) {           \
                _cleanup_(name##_call_done) Call call = { 0 };                                   \
                _cleanup_failure_ Failure f = { 0 };                                             \
                int r = run_##name(userdata, m, &call, &f);                                      \
                                                                                                 \
                return finish(userdata, &(CallSubject){ member, call.target }, r, &f, error);    \
        }                                                                                        \
        struct on_##name##_needs_a_semicolon

DEFINE_OPERATION(mount, MountCall, WORKER_MOUNT);
DEFINE_OPERATION(adopt, AdoptCall, WORKER_ADOPT);
DEFINE_OPERATION(change, ChangeCall, WORKER_CHANGE);

static int run_verify(Child *c, sd_bus_message *m, VerifyCall *call, Failure *f) {
        _cleanup_(verify_result_done) VerifyResult result = { 0 };
        int r;

        r = read_call(m, &verify_call_type, call);
        if (r < 0)
                return r;
        r = operation_verify(c, call, &result, f);
        if (r != 0)
                return r;
        return reply_with(m, &verify_result_type, &result);
}

static int on_verify(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(verify_call_done) VerifyCall call = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r = run_verify(userdata, m, &call, &f);

        return finish(userdata, &(CallSubject){ WORKER_VERIFY, call.path }, r, &f, error);
}

static int run_unmount(Child *c, sd_bus_message *m, UnmountCall *call, Failure *f) {
        UnmountResult result = { 0 };
        int r;

        r = read_call(m, &unmount_call_type, call);
        if (r < 0)
                return r;
        enter(c, WORKER_UNMOUNT, NULL, call->target);
        r = operation_unmount(c, call, &result, f);
        if (r != 0)
                return r;
        return reply_with(m, &unmount_result_type, &result);
}

static int on_unmount(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(unmount_call_done) UnmountCall call = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r = run_unmount(userdata, m, &call, &f);

        return finish(userdata, &(CallSubject){ WORKER_UNMOUNT, call.target }, r, &f, error);
}

static int run_watch(Child *c, sd_bus_message *m) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = watch_begin(c, reply);
        if (r < 0)
                return r;
        r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 0;
}

/* The child stays for it. */
static int on_watch(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        int r = run_watch(userdata, m);

        return r == 0 ? 1 : finish(userdata, &(CallSubject){ .operation = WORKER_WATCH }, r, &f, error);
}

static int run_expect(Child *c, sd_bus_message *m, Failure *f) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        r = mount_fact_read(m, &fact);
        if (r < 0)
                return r;
        r = watch_expect(c, &fact, f);
        if (r != 0)
                return r;
        r = sd_bus_reply_method_return(m, NULL);
        return r < 0 ? r : 0;
}

static int on_expect(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        int r = run_expect(userdata, m, &f);

        return r == 0 ? 1 : finish(userdata, &(CallSubject){ .operation = WORKER_EXPECT }, r, &f, error);
}

#define METHOD(name, in, out, handler) SD_BUS_METHOD(name, in, out, handler, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        METHOD(WORKER_MOUNT, MOUNT_CALL_TYPE, OPERATION_RESULT_TYPE, on_mount),
        METHOD(WORKER_ADOPT, ADOPT_CALL_TYPE, OPERATION_RESULT_TYPE, on_adopt),
        METHOD(WORKER_CHANGE, CHANGE_CALL_TYPE, OPERATION_RESULT_TYPE, on_change),
        METHOD(WORKER_VERIFY, VERIFY_CALL_TYPE, VERIFY_RESULT_TYPE, on_verify),
        METHOD(WORKER_UNMOUNT, UNMOUNT_CALL_TYPE, UNMOUNT_RESULT_TYPE, on_unmount),
        METHOD(WORKER_WATCH, NULL, WATCHED_TYPE, on_watch),
        METHOD(WORKER_EXPECT, MOUNT_FACT_TYPE, NULL, on_expect),
        SD_BUS_SIGNAL(WORKER_PROGRESS, WALK_COUNTS_TYPE "t", 0),
        SD_BUS_SIGNAL(WORKER_MARKED, MARK_TYPE, 0),
        SD_BUS_SIGNAL(WORKER_CHANGED, MOUNT_CHANGES_TYPE, 0),
        SD_BUS_SIGNAL(WORKER_ORPHAN, NULL, 0),
        SD_BUS_SIGNAL(WORKER_NODE, NODE_TYPE, 0),
        SD_BUS_VTABLE_END,
};

int serve_prepare(Child *c) {
        int r;

        r = sd_event_new(&c->event);
        if (r < 0)
                return r;
        r = peer_prepare(&c->bus);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(c->bus, NULL, WORKER_PATH, WORKER_INTERFACE, vtable, c);
        if (r < 0)
                return r;
        return sd_bus_set_exit_on_disconnect(c->bus, 1);
}

static int serve(Child *c, int fd) {
        int r;

        r = peer_accept(c->bus, fd);
        if (r < 0)
                return r;
        r = sd_bus_attach_event(c->bus, c->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        return sd_event_loop(c->event);
}

int serve_connection(Child *c, int fd) {
        int r = serve(c, fd);

        watch_free(c->watch);
        sd_bus_flush_close_unref(c->bus);
        sd_event_unref(c->event);
        /* Hanging up is how a peer ends, at whatever moment. */
        return r < 0 && r != -ECONNRESET && r != -EPIPE && r != -ENOTCONN ? r : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

#include "basic/log.h"
#include "model/limits.h"
#include "mount/denial.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"
#include "wire/peer.h"
#include "wire/protocol.h"
#include "worker/operations.h"

/* Returns 1 if mounts beneath the roots reach the host; 0 if the mount with the roots is a slave: an option
 * of the unit has put the worker in its own mount namespace, where systemd makes all mounts slaves of the
 * host. */
static int read_propagation(const Settings *settings) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint64_t id;
        int r;

        STRV_FOREACH (root, settings->target_roots) {
                fd = open(*root, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd >= 0)
                        break;
        }
        if (fd < 0)
                fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_own(fd, false, &table);
        if (r < 0)
                return r;
        r = mount_table_is_slave(table, id);
        return r < 0 ? r : !r;
}

void configuration_done(Configuration *c) {
        settings_done(&c->settings);
}

int configuration_read(Configuration *c, Failure *f) {
        _cleanup_(settings_done) Settings settings = { 0 };
        int r;

        r = settings_load(c->usr_dir, c->etc_dir, &settings, f);
        if (r != 0)
                return r;
        r = read_propagation(&settings);
        if (r < 0)
                return r;
        settings_done(&c->settings);
        c->settings = TAKE_STRUCT(settings);
        c->propagating = r > 0;
        return 0;
}

/* The worker logs its own refusals and failures itself, because selvold is not trusted with them. selvold
 * logs the other failures, unless it has hung up. */
static int failure_priority(Child *c, FailureKind kind) {
        switch (kind) {
        case FAILURE_PATH_NOT_ALLOWED:
        case FAILURE_TYPE_NOT_ALLOWED:
        case FAILURE_SELINUX_DENIED:
        case FAILURE_WORKER_FAILED:
                return LOG_WARNING;
        default:
                return child_peer_is_gone(c) ? LOG_WARNING : LOG_DEBUG;
        }
}

/* Ends a call: r is 0 if the reply was sent, a negative errno, or a failure kind with f filled. Returns the
 * value for sd-bus. */
static int finish_call(Child *c, const char *operation, const char *path, int r, Failure *f, sd_bus_error *error) {
        _cleanup_free_ char *target = string_escape(strempty(path), 200), *line = NULL;
        const LogField fields[] = { { "SELVOL_TARGET", target }, { "SELVOL_OPERATION", operation } };

        if (r == 0) {
                c->succeeded = true;
                return 1;
        }
        if (r == -ECANCELED) {
                log_debug("%s ends without a reply.", operation);
                return 1;
        }
        /* A file system that has shut down fails at any step. */
        if (r < 0 && r != -ENOTCONN && !isempty(path))
                r = health_explain_errno(r, path, f);
        if (r == -EACCES && selinux_is_enforcing())
                r = failure_set(
                        f, FAILURE_SELINUX_DENIED,
                        "SELinux, or the server of the volume, denies selvol-worker a step of %s. If it is SELinux: ausearch -m AVC -c selvol-worker | audit2allow -M selvol-local && semodule -i selvol-local.pp",
                        operation);
        if (r < 0) {
                r = failure_set(f, FAILURE_WORKER_FAILED, "The worker failed: %s.", strerror(-r));
                if (r < 0)
                        return r;
        }
        line = text_join_lines(strdup(strempty(f->message)));
        log_fields(failure_priority(c, f->kind), fields, ELEMENTSOF(fields), "%s%s%s failed: %s", operation,
                   isempty(target) ? "" : " of ", strempty(target), strempty(line));
        return peer_error_set(error, f);
}

/* Takes over selvold's configuration if its digest is another one, and the files have it. Returns 0;
 * WORKER_FAILED if they have another one, or an error; or a negative errno. */
static int follow_configuration(Child *c, uint64_t digest, Failure *f) {
        Configuration *own = c->configuration;
        _cleanup_(configuration_done) Configuration files = { .usr_dir = own->usr_dir, .etc_dir = own->etc_dir };
        _cleanup_failure_ Failure mistake = { 0 };
        int r;

        if (digest == 0 || digest == own->settings.digest)
                return 0;
        r = configuration_read(&files, &mistake);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set(
                        f, FAILURE_WORKER_FAILED,
                        "selvol-worker has another configuration than selvold, and can't read the files again: %s Correct that file, then run 'systemctl reload selvold'.",
                        mistake.message);
        if (files.settings.digest != digest)
                return failure_set(
                        f, FAILURE_WORKER_FAILED,
                        "selvol-worker has another configuration than selvold, whose files have changed since it read them. Run 'systemctl reload selvold'.");
        configuration_done(own);
        own->settings = TAKE_STRUCT(files.settings);
        own->propagating = files.propagating;
        /* The parent reads them too, for the next children. */
        (void) kill(c->parent, SIGHUP);
        return 0;
}

/* Unmount takes away nothing but what the worker has noted, with any configuration: so volumes can always be
 * unmounted. */
static int check_configuration(Child *c, const char *method, uint64_t digest, Failure *f) {
        int r;

        r = follow_configuration(c, digest, f);
        if (r == 0 || r == -ENOMEM || !streq(method, WORKER_UNMOUNT))
                return r;
        failure_done(f);
        return 0;
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

/* Reads a call, which begins with a CallOrigin, and sets the log fields. */
static int read_call(sd_bus_message *m, const MessageType *type, void *ret_call) {
        _cleanup_free_ char *job = NULL;
        const CallOrigin *origin = ret_call;
        int r;

        r = message_read(m, type, ret_call);
        if (r < 0)
                return r;
        job = strdup_printf("%" PRIu64, origin->job);
        if (!job)
                return -ENOMEM;
        return log_set_common_fields((LogField[]){ { "SELVOL_VOLUME", origin->volume }, { "SELVOL_JOB", job } }, 2);
}

/* The operation runs when sd-bus has left the handler: inside of it nothing could be read but by
 * sd_bus_call(), which keeps all messages. */
static int take_call(Child *c, sd_bus_message *m, sd_bus_message_handler_t operation) {
        if (c->call)
                return -EBUSY;
        c->call = sd_bus_message_ref(m);
        c->operation = operation;
        (void) sd_event_exit(c->event, 0);
        return 1;
}

/* Defines run_mount() and the like, which read the call, run the operation and send the result, and the
 * handlers, on_mount() and the like. path: the member of the call with the target. */
#define DEFINE_OPERATION(name, Call, member, path, result_name, result_init)                 \
        static int run_##name(sd_bus_message *m, void *userdata, sd_bus_error *error) {      \
                _cleanup_(result_name##_done) __typeof__(result_init) result = result_init;  \
                _cleanup_(name##_call_done) Call call = { 0 };                               \
                _cleanup_failure_ Failure f = { 0 };                                         \
                int r;                                                                       \
                                                                                             \
                r = read_call(m, &name##_call_type, &call);                                  \
                if (r >= 0)                                                                  \
                        r = check_configuration(userdata, member, call.origin.settings, &f); \
                if (r == 0)                                                                  \
                        r = tell_at(userdata, WORKER_AT_LOOK);                               \
                if (r == 0)                                                                  \
                        r = operation_##name(userdata, &call, &result, &f);                  \
                if (r == 0)                                                                  \
                        r = reply_with(m, &result_name##_type, &result);                     \
                return finish_call(userdata, member, call.path, r, &f, error);               \
        }                                                                                    \
        static int on_##name(sd_bus_message *m, void *userdata, sd_bus_error *error) {       \
                return take_call(userdata, m, run_##name);                                   \
        }                                                                                    \
        struct on_##name##_needs_a_semicolon

DEFINE_OPERATION(mount, MountCall, WORKER_MOUNT, target, operation_result, OPERATION_RESULT_INIT);
DEFINE_OPERATION(adopt, AdoptCall, WORKER_ADOPT, target, operation_result, OPERATION_RESULT_INIT);
DEFINE_OPERATION(change, ChangeCall, WORKER_CHANGE, target, operation_result, OPERATION_RESULT_INIT);
DEFINE_OPERATION(verify, VerifyCall, WORKER_VERIFY, path, verify_result, ((VerifyResult){ 0 }));
DEFINE_OPERATION(unmount, UnmountCall, WORKER_UNMOUNT, target, unmount_result, ((UnmountResult){ 0 }));

/* Ends a call that was served in its handler, and the child. */
static int refuse_call(Child *c, const char *operation, int r, Failure *f, sd_bus_error *error) {
        (void) sd_event_exit(c->event, 0);
        return finish_call(c, operation, NULL, r, f, error);
}

static int on_watch(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_failure_ Failure f = { 0 }, other = { 0 };
        uint64_t digest;
        int r;

        r = sd_bus_message_read(m, "t", &digest);
        /* The reply tells selvold if the configurations differ. */
        if (r >= 0)
                r = follow_configuration(userdata, digest, &other);
        if (r >= 0)
                r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = watch_begin(userdata, reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        /* The child continues and serves the watch. */
        return r >= 0 ? 1 : refuse_call(userdata, WORKER_WATCH, r, &f, error);
}

static int on_expect(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = mount_fact_read(m, &fact);
        if (r >= 0)
                r = watch_expect(userdata, &fact, &f);
        if (r == 0) {
                r = sd_bus_reply_method_return(m, NULL);
                if (r >= 0)
                        return 1;
        }
        return refuse_call(userdata, WORKER_EXPECT, r, &f, error);
}

#define METHOD(name, in, out, handler) SD_BUS_METHOD(name, in, out, handler, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        METHOD(WORKER_MOUNT, MOUNT_CALL_TYPE, OPERATION_RESULT_TYPE, on_mount),
        METHOD(WORKER_ADOPT, ADOPT_CALL_TYPE, OPERATION_RESULT_TYPE, on_adopt),
        METHOD(WORKER_CHANGE, CHANGE_CALL_TYPE, OPERATION_RESULT_TYPE, on_change),
        METHOD(WORKER_VERIFY, VERIFY_CALL_TYPE, VERIFY_RESULT_TYPE, on_verify),
        METHOD(WORKER_UNMOUNT, UNMOUNT_CALL_TYPE, UNMOUNT_RESULT_TYPE, on_unmount),
        METHOD(WORKER_WATCH, "t", WATCHED_TYPE, on_watch),
        METHOD(WORKER_EXPECT, MOUNT_FACT_TYPE, NULL, on_expect),
        SD_BUS_SIGNAL(WORKER_PROGRESS, WALK_COUNTS_TYPE "t", 0),
        SD_BUS_SIGNAL(WORKER_AT, "s", 0),
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
        /* The connection outlives the event loop, which ends when an operation begins. */
        r = sd_bus_set_close_on_exit(c->bus, false);
        if (r < 0)
                return r;
        return sd_bus_set_exit_on_disconnect(c->bus, true);
}

/* Serves calls in their handlers until there is one of an operation, which then runs. */
static int serve_calls(Child *c, int fd) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = peer_accept(c->bus, fd);
        if (r < 0)
                return r;
        r = sd_bus_attach_event(c->bus, c->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = sd_event_loop(c->event);
        if (r < 0 || !c->call)
                return r;
        r = sd_bus_detach_event(c->bus);
        if (r < 0)
                return r;
        r = sd_bus_set_exit_on_disconnect(c->bus, false);
        if (r < 0)
                return r;
        r = c->operation(c->call, c, &error);
        return r < 0 ? sd_bus_reply_method_errno(c->call, r, &error) : r;
}

int serve_connection(Child *c, int fd) {
        int r;

        r = serve_calls(c, fd);
        sd_bus_message_unref(c->call);
        if (c->watch)
                watch_free(c->watch);
        sd_bus_flush_close_unref(c->bus);
        sd_event_unref(c->event);
        /* A peer may hang up at any time. */
        return r < 0 && r != -ECONNRESET && r != -EPIPE && r != -ENOTCONN ? r : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "model/context.h"
#include "daemon/authorise.h"
#include "daemon/bus-job.h"
#include "daemon/bus-manager.h"
#include "daemon/bus-request.h"
#include "daemon/bus-util.h"
#include "daemon/bus-volume.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/log-control.h"
#include "daemon/metrics-export.h"
#include "daemon/record.h"

#include "selvol-config.h"

/* Refused before there was a job. */
static int refuse(Manager *m, int r, const Failure *f, sd_bus_error *error) {
        if (r < 0)
                return r;
        metrics_count(m->metrics, METRIC_REFUSALS, failure_kind_to_string(f->kind));
        return bus_error_set_failure(error, f);
}

/* Reads volume, source (unless NULL), target and options, and checks them. */
static int read_request(Manager *m, sd_bus_message *call, bool with_source, OptionSet set, Request *q, Failure *f) {
        const char *volume, *source = NULL, *target;
        int r;

        r = sd_bus_message_read(call, "s", &volume);
        if (r >= 0 && with_source)
                r = sd_bus_message_read(call, "s", &source);
        if (r >= 0)
                r = sd_bus_message_read(call, "s", &target);
        if (r >= 0)
                r = free_and_strdup(&q->volume, volume);
        if (r >= 0)
                r = free_and_strdup(&q->source, source);
        if (r >= 0)
                r = free_and_strdup(&q->target, target);
        if (r >= 0)
                r = bus_read_options(call, set, q, NULL, f);
        if (r == 0)
                r = request_validate(q, &m->settings, f);
        return r;
}

/* The way of every call that becomes a job: read, check, authorise, start. */
static int start(Manager *m, sd_bus_message *call, Operation operation, Request *q, const VerifyOptions *verify,
                 sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = authorise(m, call, q->volume, strempty(q->source), strempty(q->target), error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* called again when polkit has answered */

        r = job_start(m, call, operation, q, verify, &f);
        return r == 0 ? 1 : refuse(m, r, &f, error);
}

static int start_request(Manager *m, sd_bus_message *call, Operation operation, bool with_source, OptionSet set,
                         sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = read_request(m, call, with_source, set, &q, &f);
        if (r != 0)
                return refuse(m, r, &f, error);
        return start(m, call, operation, &q, NULL, error);
}

static const OptionSet options_label =
        OPTIONS_LABEL | OPTIONS_RELABEL | OPTIONS_FORCE | OPTIONS_WALK | OPTIONS_TIMEOUT;

static int method_mount_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return start_request(userdata, call, OPERATION_MOUNT, true, OPTIONS_MOUNT | options_label, error);
}

static int method_plan_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return start_request(userdata, call, OPERATION_PLAN, true, OPTIONS_MOUNT | options_label, error);
}

static int method_adopt_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return start_request(userdata, call, OPERATION_ADOPT, false, options_label, error);
}

static int method_unmount_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return start_request(userdata, call, OPERATION_UNMOUNT, false, OPTIONS_TIMEOUT, error);
}

/* Reads a volume, and a context into the request's, which is "" for the one that is recorded. */
static int read_subject(sd_bus_message *call, OptionSet set, Request *q, VerifyOptions *verify, Failure *f) {
        const char *volume, *context;
        int r;

        r = sd_bus_message_read(call, "ss", &volume, &context);
        if (r >= 0)
                r = free_and_strdup(&q->volume, volume);
        if (r >= 0)
                r = bus_read_options(call, set, q, verify, f);
        if (r == 0)
                r = isempty(context) ? free_and_strdup(&q->context, "")
                                     : context_canonicalize(context, &q->context, f);
        return r;
}

static int method_verify_label(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Manager *m = userdata;
        VerifyOptions verify;
        int r;

        r = read_subject(call, OPTIONS_VERIFY | OPTIONS_WALK | OPTIONS_TIMEOUT, &q, &verify, &f);
        if (r == 0)
                r = q.volume[0] == '/' ? target_validate(q.volume, &m->settings, &f)
                                       : volume_id_validate(q.volume, &f);
        if (r != 0)
                return refuse(m, r, &f, error);
        return start(m, call, OPERATION_VERIFY, &q, &verify, error);
}

static int method_relabel(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Manager *m = userdata;
        const Volume *v;
        int r;

        r = read_subject(call, OPTIONS_FORCE | OPTIONS_WALK | OPTIONS_TIMEOUT, &q, NULL, &f);
        if (r == 0)
                r = volume_id_validate(q.volume, &f);
        /* It has no target: what is relabelled is a volume, wherever it is. */
        if (r == 0)
                r = free_and_strdup(&q.target, "");
        if (r != 0)
                return refuse(m, r, &f, error);
        r = authorise(m, call, q.volume, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;

        v = volumes_find(&m->volumes, q.volume);
        /* Spelt out, so that both ways to ask for it are the same. */
        r = isempty(q.context) && v ? free_and_strdup(&q.context, v->context) : 0;
        if (r == 0)
                r = job_start(m, call, OPERATION_RELABEL, &q, NULL, &f);
        return r == 0 ? 1 : refuse(m, r, &f, error);
}

static int read_chgrp(sd_bus_message *call, Request *q, Failure *f) {
        const char *volume;
        int r;

        r = sd_bus_message_read(call, "su", &volume, &q->fs_group);
        if (r >= 0)
                r = free_and_strdup(&q->volume, volume);
        if (r >= 0)
                r = free_and_strdup(&q->target, "");
        if (r >= 0)
                r = bus_read_options(call, OPTIONS_READ_ONLY | OPTIONS_FORCE | OPTIONS_WALK | OPTIONS_TIMEOUT, q,
                                     NULL, f);
        if (r == 0)
                r = volume_id_validate(q->volume, f);
        if (r == 0 && q->fs_group == GID_NONE)
                r = failure_set(f, FAILURE_INVALID_OPTION, "%" PRIu32 " is no group.", q->fs_group);
        return r;
}

static int method_apply_ownership(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = read_chgrp(call, &q, &f);
        if (r != 0)
                return refuse(userdata, r, &f, error);
        return start(userdata, call, OPERATION_CHGRP, &q, NULL, error);
}

/* By an id that has been checked. */
static int find_volume(const Manager *m, const char *id, Volume **ret, Failure *f) {
        *ret = volumes_find(&m->volumes, id);
        if (!*ret)
                return failure_set(f, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.", id);
        return 0;
}

static void on_forgotten(Manager *m, int error, void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = userdata;

        if (error < 0)
                (void) sd_bus_reply_method_errorf(call, "org.selvol1.Error.StoreFailed",
                                                  "The state could not be written: %s.", strerror(-error));
        else
                (void) sd_bus_reply_method_return(call, NULL);
}

static int forget(Manager *m, sd_bus_message *call, Volume *v, Failure *f) {
        int r;

        if (v->holders) {
                _cleanup_free_ char *target = string_escape(v->holders->target, 200);

                if (!target)
                        return -ENOMEM;
                return failure_set(f, FAILURE_BUSY, "Volume %s is held at %s: unmount it first.", v->id, target);
        }
        if (job_is_running_on(m, v->id))
                return failure_set(f, FAILURE_BUSY, "A job is running on volume %s; call again when it has ended.",
                                   v->id);
        if (!commit_is_possible(m))
                return failure_set(
                        f, FAILURE_STORE_FAILED,
                        "The state can't be written, so nothing can be changed: see the journal of selvold.");

        record_forgotten(m, v, strempty(sd_bus_message_get_sender(call)));
        commit_removal(m, v);
        r = commit_then(m, on_forgotten, sd_bus_message_ref(call));
        if (r < 0)
                sd_bus_message_unref(call);
        return r;
}

static int method_forget_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Manager *m = userdata;
        const char *id;
        Volume *v;
        int r;

        r = sd_bus_message_read(call, "s", &id);
        if (r >= 0)
                r = bus_read_options(call, 0, &q, NULL, &f);
        if (r == 0)
                r = volume_id_validate(id, &f);
        if (r != 0)
                return refuse(m, r, &f, error);

        r = authorise(m, call, id, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = find_volume(m, id, &v, &f);
        if (r == 0)
                r = forget(m, call, v, &f);
        return r == 0 ? 1 : refuse(m, r, &f, error);
}

static int method_get_volume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *path = NULL;
        Manager *m = userdata;
        const char *id;
        Volume *v;
        int r;

        r = sd_bus_message_read(call, "s", &id);
        if (r >= 0)
                r = volume_id_validate(id, &f);
        if (r != 0)
                return refuse(m, r, &f, error);
        r = authorise(m, call, id, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = find_volume(m, id, &v, &f);
        if (r != 0)
                return refuse(m, r, &f, error);

        path = volume_bus_path(v->id);
        return path ? sd_bus_reply_method_return(call, "o", path) : -ENOMEM;
}

static int method_get_job(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *path = NULL;
        Manager *m = userdata;
        uint64_t id;
        int r;

        r = sd_bus_message_read(call, "t", &id);
        if (r < 0)
                return r;
        r = authorise(m, call, "", "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (!job_object_find(m, id)) {
                r = failure_set(&f, FAILURE_NO_SUCH_JOB,
                                "Job %llu is not known: it has ended, and its result is no longer kept.",
                                (unsigned long long) id);
                return refuse(m, r, &f, error);
        }
        path = job_bus_path(id);
        return path ? sd_bus_reply_method_return(call, "o", path) : -ENOMEM;
}

static int method_get_metrics(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_free_ char *text = NULL;
        Manager *m = userdata;
        int r;

        r = authorise(m, call, "", "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        text = metrics_text(m);
        return text ? sd_bus_reply_method_return(call, "s", text) : -ENOMEM;
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", SELVOL_VERSION);
}

static int get_selinux_mode(sd_bus *bus, const char *path, const char *interface, const char *property,
                            sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", manager_selinux_mode(userdata));
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("MountVolume", SD_BUS_ARGS("s", volume, "s", source, "s", target, "a{sv}", options),
                                SD_BUS_RESULT("s", context, "s", runtime_flag, "a{sv}", result), method_mount_volume,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("UnmountVolume", SD_BUS_ARGS("s", volume, "s", target, "a{sv}", options),
                                SD_BUS_RESULT("a{sv}", result), method_unmount_volume, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("PlanVolume", SD_BUS_ARGS("s", volume, "s", source, "s", target, "a{sv}", options),
                                SD_BUS_RESULT("a{sv}", plan), method_plan_volume, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("AdoptVolume", SD_BUS_ARGS("s", volume, "s", target, "a{sv}", options),
                                SD_BUS_RESULT("s", context, "s", runtime_flag, "a{sv}", result), method_adopt_volume,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("VerifyLabel", SD_BUS_ARGS("s", volume_or_path, "s", expected, "a{sv}", options),
                                SD_BUS_RESULT("b", matches, "s", actual, "a{sv}", result), method_verify_label,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Relabel", SD_BUS_ARGS("s", volume, "s", context, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_relabel, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ApplyOwnership", SD_BUS_ARGS("s", volume, "u", gid, "a{sv}", options),
                                SD_BUS_RESULT("o", job), method_apply_ownership, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ForgetVolume", SD_BUS_ARGS("s", volume, "a{sv}", options), SD_BUS_NO_RESULT,
                                method_forget_volume, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetVolume", SD_BUS_ARGS("s", volume), SD_BUS_RESULT("o", object), method_get_volume,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetJob", SD_BUS_ARGS("t", id), SD_BUS_RESULT("o", object), method_get_job,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetMetrics", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method_get_metrics,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("SELinuxMode", "s", get_selinux_mode, 0, 0),
        SD_BUS_SIGNAL_WITH_ARGS("ContextConflict",
                                SD_BUS_ARGS("s", volume, "s", wanted, "s", held, "a(ssst)", holders), 0),
        SD_BUS_SIGNAL_WITH_ARGS("JobNew", SD_BUS_ARGS("t", id, "o", job), 0),
        SD_BUS_SIGNAL_WITH_ARGS("JobRemoved",
                                SD_BUS_ARGS("t", id, "o", job, "s", volume, "s", operation, "s", result), 0),
        SD_BUS_SIGNAL_WITH_ARGS("ContextReleased", SD_BUS_ARGS("s", volume, "s", context), 0),
        SD_BUS_VTABLE_END,
};

static int add_objects(Manager *m) {
        int r;

        r = sd_bus_add_object_manager(m->bus, NULL, MANAGER_PATH);
        if (r >= 0)
                r = sd_bus_add_object_vtable(m->bus, NULL, MANAGER_PATH, MANAGER_INTERFACE, manager_vtable, m);
        if (r >= 0)
                r = volume_bus_register(m);
        if (r >= 0)
                r = job_bus_register(m);
        if (r >= 0)
                r = log_control_register(m->bus);
        if (r >= 0)
                r = authorise_setup(m);
        return r;
}

int bus_connect(Manager *m) {
        int r;

        r = sd_bus_open_system(&m->bus);
        if (r >= 0)
                r = sd_bus_set_exit_on_disconnect(m->bus, true);
        /* At the end those who wait are told first. */
        if (r >= 0)
                r = sd_bus_set_close_on_exit(m->bus, false);
        if (r >= 0)
                r = add_objects(m);
        if (r >= 0)
                r = sd_bus_attach_event(m->bus, m->event, 0);
        return r < 0 ? log_error_errno(r, "Failed to connect to the system bus: %m") : 0;
}

int bus_own_name(Manager *m) {
        int r = sd_bus_request_name(m->bus, BUS_NAME, 0);

        if (r == -EEXIST)
                return log_error_errno(r, "The bus name %s is taken: another selvold is running.", BUS_NAME);
        return r < 0 ? log_error_errno(r, "Failed to take the bus name %s: %m", BUS_NAME) : 0;
}

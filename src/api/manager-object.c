/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/callers.h"
#include "basic/log.h"
#include "job/job-metrics.h"
#include "model/context.h"
#include "plan/plan-change.h"
#include "state/commit.h"
#include "state/reconcile.h"
#include "state/watch.h"
#include "wire/message-ids.h"
#include "wire/peer.h"

#include "selvol-config.h"

/* Reads volume, source (of MountVolume and PlanVolume), target and options. */
static int read_volume_and_target(sd_bus_message *m, RequestMethod method, Request *q, Failure *f) {
        const char *volume, *source = NULL, *target;
        int r;

        if (method == METHOD_MOUNT)
                r = sd_bus_message_read(m, "sss", &volume, &source, &target);
        else
                r = sd_bus_message_read(m, "ss", &volume, &target);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->volume, volume);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->source, source);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->target, target);
        if (r < 0)
                return r;
        return options_read(m, method, q, NULL, f);
}

/* The last steps of every call that becomes a job: authorize, start. The handlers have read and checked the
 * arguments. */
static int start_job(Api *api, sd_bus_message *m, Operation operation, Request *q, VerifyDepth depth,
                     sd_bus_error *error) {
        int r;

        r = sender_is_root(api, m, &q->by_root);
        if (r < 0)
                return r;
        r = authorize(api, m, q, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* called again when polkit has answered */
        return call_start(api, m, operation, q, depth, error);
}

static int start_request(Api *api, sd_bus_message *m, Operation operation, RequestMethod method,
                         sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = sender_is_root(api, m, &q.by_root);
        if (r >= 0)
                r = read_volume_and_target(m, method, &q, &f);
        if (r == 0)
                r = request_validate(&q, &api->state->settings, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        return start_job(api, m, operation, &q, VERIFY_ROOT, error);
}

static int method_mount_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return start_request(userdata, m, OPERATION_MOUNT, METHOD_MOUNT, error);
}

static int method_plan_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return start_request(userdata, m, OPERATION_PLAN, METHOD_MOUNT, error);
}

static int method_adopt_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return start_request(userdata, m, OPERATION_ADOPT, METHOD_ADOPT, error);
}

static int refuse_unheld(const char *target, Failure *f) {
        return failure_set_about(f, FAILURE_NO_SUCH_VOLUME, target,
                                 "No volume is held at %s. 'selvolctl list' shows all volumes.");
}

/* Checks a path that a volume may be held at. A mount beneath a root that the configuration no longer
 * names can still be looked up and unmounted. */
static int check_held(const State *s, const char *path, Failure *f) {
        int r;

        if (volumes_find_target(&s->volumes, path, NULL) || unrecorded_find(s, path))
                return 0;
        r = target_validate(path, &s->settings, f);
        return r == FAILURE_PATH_NOT_ALLOWED ? refuse_unheld(path, f) : r;
}

static int method_unmount_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Api *api = userdata;
        int r;

        r = read_volume_and_target(m, METHOD_UNMOUNT, &q, &f);
        if (r == 0 && !isempty(q.volume))
                r = volume_id_validate(q.volume, &f);
        if (r == 0)
                r = check_held(api->state, q.target, &f);
        if (r == 0)
                r = free_and_strdup(&q.holder, q.target);
        if (r == 0)
                r = free_and_strdup(&q.volume_type, "csi");
        if (r != 0)
                return api_refuse(api, r, &f, error);
        return start_job(api, m, OPERATION_UNMOUNT, &q, VERIFY_ROOT, error);
}

/* Makes the request's context of its level, as for a mount. */
static int complete_level(const State *s, Request *q, Failure *f) {
        _cleanup_free_ char *level = NULL;
        int r;

        r = level_canonicalize(q->level, &level, f);
        if (r != 0)
                return r;
        if (!s->node_known)
                return failure_set(
                        f, FAILURE_BUSY,
                        "selvol-worker has not told yet which policy is loaded: try again, or pass a full context.");
        r = plan_complete_context(&s->node, NULL, level, &q->context, f);
        return r == 0 ? free_and_strdup(&q->level, NULL) : r;
}

/* Reads a volume, and a context, or a level, into the request's context; "": the recorded context. */
static int read_subject(const State *s, sd_bus_message *m, RequestMethod method, Request *q, VerifyDepth *ret_depth,
                        Failure *f) {
        const char *volume, *context;
        int r;

        r = sd_bus_message_read(m, "ss", &volume, &context);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->volume, volume);
        if (r < 0)
                return r;
        r = options_read(m, method, q, ret_depth, f);
        if (r != 0)
                return r;
        if (q->level && !isempty(context))
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "A context and \"SELinuxLevel\" were passed: pass one or the other.");
        if (q->level)
                return complete_level(s, q, f);
        if (isempty(context))
                return free_and_strdup(&q->context, "");
        return context_canonicalize(context, &q->context, f);
}

/* A path where no volume can be may be an id. */
static int check_verified(const State *s, Request *q, Failure *f) {
        int r;

        if (q->volume[0] != '/')
                return volume_id_validate(q->volume, f);
        r = check_held(s, q->volume, f);
        if (r <= 0)
                return r < 0 ? r : free_and_strdup(&q->target, q->volume);
        return volumes_find(&s->volumes, q->volume) ? volume_id_validate(q->volume, f) : r;
}

static int method_verify_label(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        VerifyDepth depth;
        Api *api = userdata;
        int r;

        r = read_subject(api->state, m, METHOD_VERIFY, &q, &depth, &f);
        if (r == 0)
                r = check_verified(api->state, &q, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        return start_job(api, m, OPERATION_VERIFY, &q, depth, error);
}

static int method_relabel(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Api *api = userdata;
        const Volume *v;
        int r;

        r = read_subject(api->state, m, METHOD_RELABEL, &q, NULL, &f);
        if (r == 0)
                r = volume_id_validate(q.volume, &f);
        /* Relabel has no target: it relabels the volume, wherever it is mounted. */
        if (r == 0)
                r = free_and_strdup(&q.target, "");
        if (r != 0)
                return api_refuse(api, r, &f, error);
        /* Spells out the recorded context, so that calls with "" and with the context are equal. */
        v = volumes_find(&api->state->volumes, q.volume);
        if (isempty(q.context) && v) {
                r = free_and_strdup(&q.context, plan_relabel_context(v));
                if (r < 0)
                        return r;
        }
        return start_job(api, m, OPERATION_RELABEL, &q, VERIFY_ROOT, error);
}

static int method_apply_ownership(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        const char *volume;
        int r;

        r = sd_bus_message_read(m, "su", &volume, &q.fs_group);
        if (r >= 0)
                r = free_and_strdup(&q.volume, volume);
        if (r >= 0)
                r = free_and_strdup(&q.target, "");
        if (r >= 0)
                r = options_read(m, METHOD_OWNERSHIP, &q, NULL, &f);
        if (r == 0)
                r = volume_id_validate(q.volume, &f);
        if (r == 0 && q.fs_group == GID_NONE)
                r = failure_set(&f, FAILURE_INVALID_OPTION,
                                "%" PRIu32 " is not a valid group id: pass one from 0 to 4294967294.", q.fs_group);
        if (r != 0)
                return api_refuse(userdata, r, &f, error);
        return start_job(userdata, m, OPERATION_OWNERSHIP, &q, VERIFY_ROOT, error);
}

/* The id has been checked. */
static int find_volume(const Api *api, const char *id, Volume **ret, Failure *f) {
        *ret = volumes_find(&api->state->volumes, id);
        return *ret ? 0 : failure_set(f, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.", id);
}

static void on_forgotten(State *s, int error, void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = userdata;
        int r;

        if (error < 0)
                r = sd_bus_reply_method_errorf(
                        m, ERROR_PREFIX "StoreFailed",
                        "The state could not be written to %s (%s). To fix that, %s, then try again.", s->directory,
                        strerror(-error), commit_remedy(error));
        else
                r = sd_bus_reply_method_return(m, NULL);
        /* selvold may have left the connection meanwhile. */
        if (r < 0 && r != -ENOTCONN)
                api_leave(s->events.userdata, "A reply can't be sent");
}

static int check_forget(Api *api, const Volume *v, Failure *f) {
        _cleanup_free_ char *target = NULL;
        const Job *job;
        int error;

        if (v->holders) {
                target = string_escape(v->holders->target, 200);
                if (!target)
                        return -ENOMEM;
                return failure_set(f, FAILURE_BUSY, "Volume %s is in use at %s: unmount it first.", v->id, target);
        }
        job = job_find_on_volume(api->jobs, v->id);
        if (job)
                return failure_set(f, FAILURE_BUSY,
                                   "Volume %s is busy: its %s (job %llu) has not ended. Try again when it has.",
                                   v->id, operation_to_string(job->operation), (unsigned long long) job->id);
        error = commit_get_error(api->state);
        if (error < 0)
                return failure_set(
                        f, FAILURE_STORE_FAILED,
                        "The state could not be written to %s (%s), so nothing was changed. To fix that, %s, then try again.",
                        api->state->directory, strerror(-error), commit_remedy(error));
        return 0;
}

static int method_forget_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *caller = NULL;
        Api *api = userdata;
        const char *id;
        Volume *v;
        int r;

        r = sd_bus_message_read(m, "s", &id);
        if (r >= 0)
                r = options_read(m, 0, &q, NULL, &f);
        if (r == 0)
                r = volume_id_validate(id, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);

        r = authorize_volume(api, m, id, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = find_volume(api, id, &v, &f);
        if (r == 0)
                r = check_forget(api, v, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);

        caller = sender_describe(api, m);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_FORGOTTEN },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->context },
                { "SELVOL_CALLER", caller },
        };
        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Forgot volume %s.", v->id);
        commit_removal(api->state, v);
        r = commit_then(api->state, on_forgotten, sd_bus_message_ref(m));
        if (r < 0)
                sd_bus_message_unref(m);
        return r < 0 ? r : 1;
}

static int reply_path(sd_bus_message *m, char *path) {
        _cleanup_free_ char *p = path;

        return p ? sd_bus_reply_method_return(m, "o", p) : -ENOMEM;
}

static int method_get_volume(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        Api *api = userdata;
        const char *id;
        Volume *v;
        int r;

        r = sd_bus_message_read(m, "s", &id);
        if (r >= 0)
                r = volume_id_validate(id, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        r = authorize_volume(api, m, id, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = find_volume(api, id, &v, &f);
        return r == 0 ? reply_path(m, volume_path(v->id)) : api_refuse(api, r, &f, error);
}

static int method_get_volume_by_target(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        Request about = REQUEST_INIT;
        const char *target;
        Api *api = userdata;
        Volume *v;
        int r;

        r = sd_bus_message_read(m, "s", &target);
        if (r < 0)
                return r;
        r = check_held(api->state, target, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        about.target = (char *) target;
        r = authorize(api, m, &about, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (volumes_find_target(&api->state->volumes, target, &v))
                return reply_path(m, volume_path(v->id));
        return api_refuse(api, refuse_unheld(target, &f), &f, error);
}

static int method_get_job(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        Api *api = userdata;
        uint64_t id;
        int r;

        r = sd_bus_message_read(m, "t", &id);
        if (r < 0)
                return r;
        r = authorize(api, m, NULL, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (job_find(api->jobs, id))
                return reply_path(m, job_path(id));
        r = failure_set(&f, FAILURE_NO_SUCH_JOB,
                        "Job %" PRIu64 " is not known: it never ran, or has ended and its result is no longer kept.",
                        id);
        return api_refuse(api, r, &f, error);
}

static int method_get_metrics(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_free_ char *text = NULL;
        Api *api = userdata;
        int r;

        r = authorize(api, m, NULL, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        text = jobs_render_metrics(api->jobs);
        return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}

static int append_unheld(sd_bus_message *reply, const Unrecorded *all) {
        const Unrecorded *u;

        for (u = all; u; u = u->hh.next) {
                const struct {
                        const char *key, *value;
                } members[] = {
                        { "Volume", u->volume },  { "Target", u->target },   { "Source", u->source },
                        { "FSType", u->fs_type }, { "Context", u->context },
                };
                int r;

                r = sd_bus_message_open_container(reply, 'a', "{sv}");
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(members); i++)
                        if (!isempty(members[i].value))
                                r = sd_bus_message_append(reply, "{sv}", members[i].key, "s", members[i].value);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(reply);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int method_list_unheld_mounts(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Api *api = userdata;
        int r;

        r = authorize(api, m, NULL, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "a{sv}");
        if (r >= 0)
                r = append_unheld(reply, api->state->unrecorded);
        if (r >= 0)
                r = append_unheld(reply, api->state->foreign);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int manager_get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                            sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Api *api = userdata;

        return sd_bus_message_append(reply, "s",
                                     streq(property, "Version") ? SELVOL_VERSION : state_selinux_mode(api->state));
}

static int manager_get_configuration(sd_bus *bus, const char *path, const char *interface, const char *property,
                                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const State *s = ((const Api *) userdata)->state;
        const uint64_t digest = streq(property, "Configuration") ? s->settings.digest : s->worker_settings;
        _cleanup_free_ char *text = digest == 0 ? strdup("") : strdup_printf("%016" PRIx64, digest);

        return text ? sd_bus_message_append(reply, "s", text) : -ENOMEM;
}

static int get_unrecorded_mounts(sd_bus *bus, const char *path, const char *interface, const char *property,
                                 sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Api *api = userdata;
        const Unrecorded *u;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ss)");
        if (r < 0)
                return r;
        for (u = api->state->unrecorded; u; u = u->hh.next) {
                r = sd_bus_message_append(reply, "(ss)", u->volume, u->target);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
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
        SD_BUS_METHOD_WITH_ARGS("GetVolumeByTarget", SD_BUS_ARGS("s", target), SD_BUS_RESULT("o", object),
                                method_get_volume_by_target, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetJob", SD_BUS_ARGS("t", id), SD_BUS_RESULT("o", object), method_get_job,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListUnheldMounts", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", mounts),
                                method_list_unheld_mounts, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetMetrics", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text), method_get_metrics,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("Version", "s", manager_get_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("SELinuxMode", "s", manager_get_text, 0, 0),
        SD_BUS_PROPERTY("Configuration", "s", manager_get_configuration, 0, 0),
        SD_BUS_PROPERTY("WorkerConfiguration", "s", manager_get_configuration, 0, 0),
        SD_BUS_PROPERTY("UnrecordedMounts", "a(ss)", get_unrecorded_mounts, 0, 0),
        SD_BUS_SIGNAL_WITH_ARGS("ContextConflict",
                                SD_BUS_ARGS("s", volume, "s", wanted, "s", held, "aa{sv}", holders), 0),
        SD_BUS_SIGNAL_WITH_ARGS("JobNew", SD_BUS_ARGS("t", id, "o", job), 0),
        SD_BUS_SIGNAL_WITH_ARGS("JobRemoved",
                                SD_BUS_ARGS("t", id, "o", job, "s", volume, "s", operation, "s", result), 0),
        SD_BUS_SIGNAL_WITH_ARGS("GroupConflict", SD_BUS_ARGS("s", volume, "u", wanted, "aa{sv}", holders), 0),
        SD_BUS_SIGNAL_WITH_ARGS("GroupReleased", SD_BUS_ARGS("s", volume, "u", gid), 0),
        SD_BUS_SIGNAL_WITH_ARGS("MountChanged", SD_BUS_ARGS("s", volume, "s", target, "s", text), 0),
        SD_BUS_SIGNAL_WITH_ARGS("ContextReleased", SD_BUS_ARGS("s", volume, "s", context), 0),
        SD_BUS_VTABLE_END,
};

int manager_object_add(Api *api) {
        return sd_bus_add_object_vtable(api->bus, NULL, MANAGER_PATH, MANAGER_INTERFACE, manager_vtable, api);
}

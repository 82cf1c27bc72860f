/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-daemon.h>

#include "api/signals.h"
#include "job/job.h"
#include "basic/log.h"
#include "basic/time-util.h"
#include "state/watch.h"
#include "wire/message-ids.h"

enum { CHANGED_INTERVAL_USEC = 250000 };

/* PropertiesChanged is sent at most four times a second; InterfacesAdded and InterfacesRemoved at once. */

static int on_changed_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Api *api = userdata;
        _cleanup_strv_ char **changed = TAKE_PTR(api->changed);

        api->changed_source = sd_event_source_unref(api->changed_source);
        /* Names all properties that can change by the vtable. If the object is gone meanwhile, sd-bus sends
         * nothing. */
        STRV_FOREACH (path, changed)
                (void) sd_bus_emit_properties_changed_strv(
                        api->bus, *path, startswith(*path, VOLUME_PREFIX "/") ? VOLUME_INTERFACE : JOB_INTERFACE,
                        NULL);
        signals_notify_status(api);
        return 0;
}

/* Takes the path over. */
static void queue_changed(Api *api, char *path) {
        _cleanup_free_ char *p = path;

        if (!p || strv_contains(api->changed, p) || strv_extend(&api->changed, p) < 0)
                return;
        if (!api->changed_source)
                (void) sd_event_add_time_relative(api->state->event, &api->changed_source, CLOCK_MONOTONIC,
                                                  CHANGED_INTERVAL_USEC, 0, on_changed_timer, api);
}

static void on_volume_added(void *userdata, const Volume *v) {
        _cleanup_free_ char *path = volume_path(v->id);
        Api *api = userdata;

        if (path)
                (void) sd_bus_emit_object_added(api->bus, path);
}

static void on_volume_changed(void *userdata, const Volume *v) {
        queue_changed(userdata, volume_path(v->id));
}

static void on_volume_removed(void *userdata, const Volume *v) {
        _cleanup_free_ char *path = volume_path(v->id);
        Api *api = userdata;

        if (path)
                (void) sd_bus_emit_object_removed(api->bus, path);
}

static void on_volume_released(void *userdata, const Volume *v, const Holder *last) {
        Api *api = userdata;
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_CONTEXT_RELEASED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->context },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Volume %s has no holder any more.", v->id);
        (void) sd_bus_emit_signal(api->bus, MANAGER_PATH, MANAGER_INTERFACE, "ContextReleased", "ss", v->id,
                                  v->context);
        if (last->fs_group != GID_NONE)
                (void) sd_bus_emit_signal(api->bus, MANAGER_PATH, MANAGER_INTERFACE, "GroupReleased", "su", v->id,
                                          last->fs_group);
}

static void on_mount_changed(void *userdata, const Volume *v, const Holder *h, const char *text) {
        Api *api = userdata;

        (void) sd_bus_emit_signal(api->bus, MANAGER_PATH, MANAGER_INTERFACE, "MountChanged", "sss", v->id, h->target,
                                  text);
}

static void on_conflict(void *userdata, const char *volume, FailureKind kind, const Plan *plan) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        bool is_group = kind == FAILURE_GROUP_CONFLICT;
        const char *name = is_group ? "GroupConflict" : "ContextConflict";
        Api *api = userdata;
        Dict d;
        int r;

        if (!is_group && kind != FAILURE_CONTEXT_CONFLICT)
                return;
        r = sd_bus_message_new_signal(api->bus, &signal, MANAGER_PATH, MANAGER_INTERFACE, name);
        if (r >= 0)
                r = is_group ? sd_bus_message_append(signal, "su", volume, plan->fs_group)
                             : sd_bus_message_append(signal, "sss", volume, strempty(plan->context),
                                                     plan->conflicts[0].context);
        if (r >= 0) {
                d = (Dict){ .m = signal };
                dict_append_conflicts(&d, plan->conflicts, plan->n_conflicts);
                r = d.error;
        }
        if (r >= 0)
                r = sd_bus_send(api->bus, signal, NULL);
        if (r < 0)
                log_error_errno(r, "Failed to send %s: %m", name);
}

static void volume_of_job_changed(Api *api, const Job *job) {
        const Volume *v = job_volume(job);

        if (v)
                on_volume_changed(api, v);
}

static void on_job_added(void *userdata, const Job *job) {
        _cleanup_free_ char *path = job_path(job->id);
        Api *api = userdata;

        if (!path)
                return;
        (void) sd_bus_emit_object_added(api->bus, path);
        (void) sd_bus_emit_signal(api->bus, MANAGER_PATH, MANAGER_INTERFACE, "JobNew", "to", job->id, path);
        volume_of_job_changed(api, job);
}

static void on_job_changed(void *userdata, const Job *job) {
        if (job->shown)
                queue_changed(userdata, job_path(job->id));
}

static void on_job_ended(void *userdata, const Job *job) {
        _cleanup_free_ char *path = job_path(job->id);
        Api *api = userdata;

        on_job_changed(api, job);
        volume_of_job_changed(api, job);
        if (path)
                (void) sd_bus_emit_signal(api->bus, MANAGER_PATH, MANAGER_INTERFACE, "JobRemoved", "tosss", job->id,
                                          path, job->request.volume, operation_to_string(job->operation),
                                          job_result(job));
}

static void on_node_changed(void *userdata) {
        signals_notify_status(userdata);
}

static void on_job_removed(void *userdata, const Job *job) {
        _cleanup_free_ char *path = job_path(job->id);
        Api *api = userdata;

        if (path)
                (void) sd_bus_emit_object_removed(api->bus, path);
}

void signals_setup(Api *api) {
        api->state->events = (Events){
                .volume_added = on_volume_added,
                .volume_changed = on_volume_changed,
                .volume_removed = on_volume_removed,
                .volume_released = on_volume_released,
                .mount_changed = on_mount_changed,
                .conflict = on_conflict,
                .node_changed = on_node_changed,
                .job_added = on_job_added,
                .job_changed = on_job_changed,
                .job_ended = on_job_ended,
                .job_removed = on_job_removed,
                .userdata = api,
        };
}

void signals_teardown(Api *api) {
        api->state->events = (Events){ 0 };
        api->changed_source = sd_event_source_disable_unref(api->changed_source);
        api->changed = strv_free(api->changed);
}

void signals_notify_status(const Api *api) {
        const State *s = api->state;
        size_t volumes = volumes_count(&s->volumes), holders = 0, jobs = 0;
        const Job *job;
        Volume *v, *next;

        HASH_ITER (hh, s->volumes.table, v, next)
                holders += volume_count_holders(v);
        for (job = api->jobs->list; job; job = job->next)
                jobs += !job_has_ended(job);
        (void) sd_notifyf(0, "STATUS=%zu volume%s, %zu holder%s, %zu job%s; SELinux is %s.%s%s%s%s%s", volumes,
                          volumes == 1 ? "" : "s", holders, holders == 1 ? "" : "s", jobs, jobs == 1 ? "" : "s",
                          s->node_known ? state_selinux_mode(s) : "not known yet",
                          state_worker_differs(s) ? " " CONFIG_DIFFERS_TEXT : "",
                          s->settings_mistake ? " An earlier configuration is in force. " : "",
                          strempty(s->settings_mistake), s->textfile_failure ? " " : "",
                          strempty(s->textfile_failure));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "state/messages.h"
#include "daemon/bus-job.h"
#include "daemon/bus-volume.h"
#include "daemon/notify.h"

enum { CHANGED_INTERVAL_USEC = 250000 };

void notify_teardown(Manager *m) {
        sd_event_source_unref(m->changed_source);
        m->changed = strv_free(m->changed);
}

/* All properties that the vtable says can change. That of an object which has gone meanwhile goes nowhere. */
static void emit_changed(Manager *m, const char *path) {
        const char *interface = startswith(path, VOLUME_PREFIX "/") ? VOLUME_INTERFACE : JOB_INTERFACE;

        (void) sd_bus_emit_properties_changed_strv(m->bus, path, interface, NULL);
}

static int on_changed_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;
        char **changed = TAKE_PTR(m->changed);

        m->changed_source = sd_event_source_unref(m->changed_source);
        STRV_FOREACH (path, changed)
                emit_changed(m, *path);
        strv_free(changed);
        notify_status(m);
        return 0;
}

/* Takes the path over. */
static void notify_changed(Manager *m, char *path) {
        _cleanup_free_ char *p = path;

        if (!p || (!strv_contains(m->changed, p) && strv_extend(&m->changed, p) < 0))
                return;
        if (!m->changed_source)
                (void) sd_event_add_time_relative(m->event, &m->changed_source, CLOCK_MONOTONIC,
                                                  CHANGED_INTERVAL_USEC, 0, on_changed_timer, m);
}

void notify_volume_changed(Manager *m, const Volume *v) {
        notify_changed(m, volume_bus_path(v->id));
}

void notify_job_changed(const JobObject *o) {
        /* Nobody has been told of it yet. */
        if (o->announced)
                notify_changed(o->manager, job_bus_path(o->id));
}

void notify_job_new(const JobObject *o) {
        _cleanup_free_ char *path = job_bus_path(o->id);

        if (!path)
                return;
        (void) sd_bus_emit_object_added(o->manager->bus, path);
        (void) sd_bus_emit_signal(o->manager->bus, MANAGER_PATH, MANAGER_INTERFACE, "JobNew", "to", o->id, path);
}

void notify_job_removed(const JobObject *o) {
        _cleanup_free_ char *path = job_bus_path(o->id);

        if (path)
                (void) sd_bus_emit_signal(o->manager->bus, MANAGER_PATH, MANAGER_INTERFACE, "JobRemoved", "tosss",
                                          o->id, path, o->volume, operation_to_string(o->operation),
                                          job_object_result(o));
}

void notify_job_forgotten(const JobObject *o) {
        _cleanup_free_ char *path = job_bus_path(o->id);

        if (path)
                (void) sd_bus_emit_object_removed(o->manager->bus, path);
}

void notify_volume_added(Manager *m, const Volume *v) {
        _cleanup_free_ char *path = volume_bus_path(v->id);

        if (path && m->bus)
                (void) sd_bus_emit_object_added(m->bus, path);
}

void notify_volume_removed(Manager *m, const Volume *v) {
        _cleanup_free_ char *path = volume_bus_path(v->id);

        if (path && m->bus)
                (void) sd_bus_emit_object_removed(m->bus, path);
}

void notify_context_conflict(Manager *m, const char *volume, const Plan *plan) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        int r;

        r = sd_bus_message_new_signal(m->bus, &signal, MANAGER_PATH, MANAGER_INTERFACE, "ContextConflict");
        if (r >= 0)
                r = sd_bus_message_append(signal, "sss", volume, strempty(plan->context), plan->conflicts[0].context);
        if (r >= 0)
                r = sd_bus_message_open_container(signal, 'a', "(ssst)");
        for (size_t i = 0; i < plan->n_conflicts && r >= 0; i++) {
                const Conflict *c = &plan->conflicts[i];

                r = sd_bus_message_append(signal, "(ssst)", c->volume, c->holder, c->target, c->since_usec);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(signal);
        if (r >= 0)
                r = sd_bus_send(m->bus, signal, NULL);
        if (r < 0)
                log_error_errno(r, "Failed to send ContextConflict: %m");
}

void notify_context_released(Manager *m, const Volume *v) {
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_CONTEXT_RELEASED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->context },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "%s: nobody holds the volume any more.", v->id);
        (void) sd_bus_emit_signal(m->bus, MANAGER_PATH, MANAGER_INTERFACE, "ContextReleased", "ss", v->id,
                                  v->context);
}

void notify_status(Manager *m) {
        size_t holders = 0;
        Volume *v, *next;

        HASH_ITER (hh, m->volumes.table, v, next)
                holders += volume_count_holders(v);
        (void) sd_notifyf(0, "STATUS=%zu volumes, %zu holders, %zu jobs; SELinux is %s.", volumes_count(&m->volumes),
                          holders, m->n_jobs, m->node_known ? manager_selinux_mode(m) : "not known yet");
}

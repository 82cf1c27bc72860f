/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "daemon/bus-job.h"
#include "daemon/job-object.h"
#include "daemon/notify.h"

int job_object_new(Job *job) {
        Manager *m = job->manager;
        JobObject *o = calloc(1, sizeof(*o));

        if (!o)
                return -ENOMEM;
        *o = (JobObject){
                .manager = m,
                .job = job,
                .id = ++m->last_job_id,
                .operation = job->operation,
                .volume = strdup(job->request.volume),
                .started_usec = now_realtime_usec(),
        };
        DL_APPEND(m->job_objects, o);
        job->object = o;
        return o->volume ? 0 : -ENOMEM;
}

JobObject *job_object_free(JobObject *o) {
        if (!o)
                return NULL;
        DL_DELETE(o->manager->job_objects, o);
        if (o->job)
                o->job->object = NULL;
        for (size_t i = 0; i < o->n_calls; i++)
                sd_bus_message_unref(o->calls[i]);
        free(o->calls);
        free(o->volume);
        free(o->context);
        free(o->error);
        walk_done(&o->walk);
        free(o);
        return NULL;
}

static const char *running_context(const Job *job) {
        return job->operation == OPERATION_VERIFY ? job->expected : job->plan.context;
}

const Walk *job_object_walk(const JobObject *o) {
        return o->job ? &o->job->walk : &o->walk;
}

const char *job_object_context(const JobObject *o) {
        return strempty(o->job ? running_context(o->job) : o->context);
}

const char *job_object_result(const JobObject *o) {
        return o->job ? "" : o->result == FAILURE_NONE ? "done" : failure_kind_to_string(o->result);
}

JobObject *job_object_find(const Manager *m, uint64_t id) {
        JobObject *o;

        DL_FOREACH (m->job_objects, o)
                if (o->id == id)
                        return o;
        return NULL;
}

JobObject *job_object_find_running(const Manager *m, const char *volume) {
        JobObject *o;

        DL_FOREACH (m->job_objects, o)
                if (o->job && streq(o->volume, volume))
                        return o;
        return NULL;
}

static void notify_volume(const JobObject *o) {
        const Volume *v = volumes_find(&o->manager->volumes, o->volume);

        if (v)
                notify_volume_changed(o->manager, v);
}

void job_object_announce(JobObject *o) {
        if (o->announced)
                return;
        o->announced = true;
        notify_job_new(o);
        notify_volume(o);
}

static void drop(JobObject *o) {
        notify_job_forgotten(o);
        job_object_free(o);
}

static JobObject *find_oldest_ended(const Manager *m, size_t *ret_n) {
        JobObject *o, *oldest = NULL;

        *ret_n = 0;
        DL_FOREACH (m->job_objects, o) {
                if (o->job)
                        continue;
                ++*ret_n;
                if (!oldest || o->ended_usec < oldest->ended_usec)
                        oldest = o;
        }
        return oldest;
}

static int on_expiry(sd_event_source *source, uint64_t usec, void *userdata);

/* Drops those that are too old, or too many, and sets the clock for the next. Without memory for a clock, the next
 * end of a job tries again. */
static void expire(Manager *m) {
        uint64_t now = now_monotonic_usec(), kept = JOB_OBJECT_KEPT_SEC * USEC_PER_SEC;
        JobObject *oldest;
        size_t n;

        while ((oldest = find_oldest_ended(m, &n)) && (n > JOB_OBJECTS_KEPT_MAX || now >= oldest->ended_usec + kept))
                drop(oldest);
        m->job_expiry = sd_event_source_disable_unref(m->job_expiry);
        if (oldest)
                (void) sd_event_add_time(m->event, &m->job_expiry, CLOCK_MONOTONIC, oldest->ended_usec + kept, 0,
                                         on_expiry, m);
}

static int on_expiry(sd_event_source *source, uint64_t usec, void *userdata) {
        expire(userdata);
        return 0;
}

static void answer(JobObject *o) {
        for (size_t i = 0; i < o->n_calls; i++) {
                (void) job_bus_answer(o, o->calls[i]);
                sd_bus_message_unref(o->calls[i]);
        }
        o->n_calls = 0;
}

void job_object_end(JobObject *o) {
        Job *job;

        if (!o)
                return;
        job = o->job;
        o->result = job->failure.kind;
        o->ended_usec = now_monotonic_usec();
        /* Without memory they are empty. */
        o->error = strdup(job->failure.kind != FAILURE_NONE ? strempty(job->failure.message) : "");
        o->context = strdup(strempty(running_context(job)));
        o->fs_group = job->plan.context ? job->plan.fs_group : GID_NONE;
        o->disk_gid = o->fs_group == GID_NONE ? GID_NONE : job_disk_gid(job);
        o->walk = job->walk;
        o->walk.expected_end_usec = 0;
        o->walk.target = NULL;
        job->walk = (Walk){ 0 };
        job->object = NULL;
        o->job = NULL;

        answer(o);
        notify_volume(o);
        if (!o->announced) {
                job_object_free(o);
                return;
        }
        notify_job_changed(o);
        notify_job_removed(o);
        expire(o->manager);
}

int job_object_wait(JobObject *o, sd_bus_message *call, Failure *f) {
        /* However many wait, it can still be cancelled. */
        size_t max = sd_bus_message_is_method_call(call, NULL, "Cancel") ? 2 * CALLS_MAX : CALLS_MAX;
        sd_bus_message **grown;

        if (o->n_calls >= max)
                return failure_set(f, FAILURE_LIMIT_REACHED, "%i calls wait for this already.", CALLS_MAX);
        grown = reallocarray(o->calls, o->n_calls + 1, sizeof(sd_bus_message *));
        if (!grown)
                return -ENOMEM;
        o->calls = grown;
        o->calls[o->n_calls++] = sd_bus_message_ref(call);
        return 0;
}

void job_objects_teardown(Manager *m) {
        m->job_expiry = sd_event_source_disable_unref(m->job_expiry);
        while (m->job_objects)
                job_object_free(m->job_objects);
}

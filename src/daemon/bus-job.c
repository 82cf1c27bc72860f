/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "daemon/authorise.h"
#include "daemon/bus-job.h"
#include "daemon/bus-util.h"
#include "daemon/job-reply.h"

char *job_bus_path(uint64_t id) {
        return strdup_printf(JOB_PREFIX "/%llu", (unsigned long long) id);
}

/* An id has one form only. */
static JobObject *find_by_path(Manager *m, const char *path) {
        const char *element = startswith(path, JOB_PREFIX "/");
        unsigned long long id;

        if (!element || element[0] == '0' || parse_u64(element, &id) < 0)
                return NULL;
        return job_object_find(m, id);
}

static int find_job(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                    sd_bus_error *error) {
        JobObject *o = find_by_path(userdata, path);

        if (!o)
                return 0;
        *ret_found = o;
        return 1;
}

static int enumerate_jobs(sd_bus *bus, const char *prefix, void *userdata, char ***ret, sd_bus_error *error) {
        _cleanup_strv_ char **paths = NULL;
        Manager *m = userdata;
        JobObject *o;
        int r;

        DL_FOREACH (m->job_objects, o) {
                r = strv_consume(&paths, job_bus_path(o->id));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 1;
}

#define PROPERTY_GETTER(name, type, expression)                                                     \
        static int name(sd_bus *bus, const char *path, const char *interface, const char *property, \
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {               \
                const JobObject *o = userdata;                                                      \
                                                                                                    \
                return sd_bus_message_append(reply, type, expression);                              \
        }                                                                                           \
        struct name##_needs_a_semicolon

PROPERTY_GETTER(get_id, "t", o->id);
PROPERTY_GETTER(get_operation, "s", operation_to_string(o->operation));
PROPERTY_GETTER(get_volume, "s", o->volume);
PROPERTY_GETTER(get_context, "s", job_object_context(o));
PROPERTY_GETTER(get_state, "s", o->job ? "running" : "ended");
PROPERTY_GETTER(get_entries_done, "t", job_object_walk(o)->result.counts.done);
PROPERTY_GETTER(get_entries_total, "t", job_object_walk(o)->total);
PROPERTY_GETTER(get_entries_changed, "t", job_object_walk(o)->result.counts.changed);
PROPERTY_GETTER(get_entries_failed, "t", job_object_walk(o)->result.counts.failed);
PROPERTY_GETTER(get_entries_per_second, "t", job_object_walk(o)->entries_per_sec);
PROPERTY_GETTER(get_started, "t", o->started_usec);
PROPERTY_GETTER(get_expected_end, "t", job_object_walk(o)->expected_end_usec);
PROPERTY_GETTER(get_result, "s", job_object_result(o));
PROPERTY_GETTER(get_error, "s", strempty(o->error));

int job_bus_answer(const JobObject *o, sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0 && sd_bus_message_is_method_call(call, NULL, "Wait"))
                r = job_object_append(o, reply);
        if (r < 0)
                return sd_bus_reply_method_errnof(call, r, "Failed to compose the reply: %m");
        return sd_bus_send(sd_bus_message_get_bus(call), reply, NULL);
}

/* Returns what a method's handler returns. */
static int wait_for_end(JobObject *o, sd_bus_message *call, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!o->job)
                return job_bus_answer(o, call);
        r = job_object_wait(o, call, &f);
        if (r > 0)
                return bus_error_set_failure(error, &f);
        return r < 0 ? r : 1;
}

static int method_wait(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        JobObject *o = userdata;
        int r;

        r = authorise(o->manager, call, o->volume, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return wait_for_end(o, call, error);
}

static int method_cancel(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        JobObject *o = userdata;
        Job *job;
        int r;

        r = authorise(o->manager, call, o->volume, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        job = o->job;
        r = wait_for_end(o, call, error);
        if (r >= 0 && job)
                job_cancel(job);
        return r;
}

static const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_cancel,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Wait", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", result, "a{sv}", details), method_wait,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("Id", "t", get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Operation", "s", get_operation, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Volume", "s", get_volume, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Context", "s", get_context, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesDone", "t", get_entries_done, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesTotal", "t", get_entries_total, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesChanged", "t", get_entries_changed, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesFailed", "t", get_entries_failed, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesPerSecond", "t", get_entries_per_second, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("StartedUSec", "t", get_started, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("ExpectedEndUSec", "t", get_expected_end, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", get_result, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Error", "s", get_error, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

int job_bus_register(Manager *m) {
        int r;

        r = sd_bus_add_fallback_vtable(m->bus, NULL, JOB_PREFIX, JOB_INTERFACE, job_vtable, find_job, m);
        return r < 0 ? r : sd_bus_add_node_enumerator(m->bus, NULL, JOB_PREFIX, enumerate_jobs, m);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/dict.h"
#include "api/objects.h"
#include "api/paths.h"
#include "api/sender.h"
#include "job/end.h"
#include "job/line.h"

static int find_job(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                    sd_bus_error *error) {
        const Api *api = userdata;
        Job *job = job_of_path(api->jobs, path);

        if (!job)
                return 0;
        *ret_found = job;
        return 1;
}

static int enumerate_jobs(sd_bus *bus, const char *prefix, void *userdata, char ***ret, sd_bus_error *error) {
        _cleanup_strv_ char **paths = NULL;
        const Api *api = userdata;
        const Job *job;
        int r;

        DL_FOREACH (api->jobs->list, job) {
                if (!job->shown)
                        continue;
                r = strv_consume(&paths, job_path(job->id));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 1;
}

#define PROPERTY_GETTER(name, type, expression) DEFINE_PROPERTY_GETTER(name, const Job *job, type, expression)

PROPERTY_GETTER(get_operation, "s", operation_to_string(job->operation));
PROPERTY_GETTER(get_context, "s", job_context(job));
PROPERTY_GETTER(get_target, "s", strempty(job->request.target));
PROPERTY_GETTER(get_holder, "s", strempty(job->request.holder));
PROPERTY_GETTER(get_state, "s", job_state_word(job));
PROPERTY_GETTER(get_result, "s", job_result(job));
PROPERTY_GETTER(get_error_name, "s",
                job_has_ended(job) && job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "");
PROPERTY_GETTER(get_error_message, "s", job_has_ended(job) ? strempty(job->failure.message) : "");

static void append_front(Dict *d, const Job *front) {
        dict_open(d, 'a', "a{sv}");
        if (front) {
                dict_open(d, 'a', "{sv}");
                dict_put(d, "Job", "t", front->id);
                dict_put(d, "Operation", "s", operation_to_string(front->operation));
                dict_put(d, "Volume", "s", front->request.volume);
                dict_put_string(d, "Target", front->request.target);
                dict_close(d);
        }
        dict_close(d);
}

static int get_waits_for(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        Dict d = { .m = reply };

        if (line_waits_for_conflict(job))
                dict_append_conflicts(&d, &job->plan);
        else
                append_front(&d, line_get_front(job));
        return d.error;
}

/* The api comes from the prefix' slot. */
static Api *api_of(sd_bus_message *call) {
        return sd_bus_slot_get_userdata(sd_bus_get_current_slot(sd_bus_message_get_bus(call)));
}

static int method_wait(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Api *api = api_of(call);
        Job *job = userdata;
        int r;

        r = authorize_volume(api, call, job->request.volume, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return call_follow(api, call, job, error);
}

static int method_cancel(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Api *api = api_of(call);
        _cleanup_free_ char *caller = NULL, *by = NULL;
        Job *job = userdata;
        int r;

        r = authorize_volume(api, call, job->request.volume, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        caller = sender_describe(api, call);
        by = caller ? strdup_printf("a caller (%s)", caller) : NULL;
        if (!by)
                return -ENOMEM;
        r = call_follow(api, call, job, error);
        if (r >= 0)
                job_cancel(job, by);
        return r;
}

static const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_cancel,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Wait", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", result, "a{sv}", details), method_wait,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("Id", "t", NULL, offsetof(Job, id), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Operation", "s", get_operation, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Volume", "s", NULL, offsetof(Job, request.volume), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Target", "s", get_target, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holder", "s", get_holder, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", get_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("State", "s", get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("WaitsFor", "aa{sv}", get_waits_for, 0, 0),
        SD_BUS_PROPERTY("EntriesDone", "t", NULL, offsetof(Job, progress.counts.done),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesTotal", "t", NULL, offsetof(Job, progress.total),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesChanged", "t", NULL, offsetof(Job, progress.counts.changed),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesFailed", "t", NULL, offsetof(Job, progress.counts.failed),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EntriesPerSecond", "t", NULL, offsetof(Job, progress.entries_per_sec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("StartedUSec", "t", NULL, offsetof(Job, started_realtime_usec), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("ExpectedEndUSec", "t", NULL, offsetof(Job, progress.expected_end_usec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", get_result, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorName", "s", get_error_name, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorMessage", "s", get_error_message, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

int job_objects_add(Api *api) {
        int r;

        r = sd_bus_add_fallback_vtable(api->bus, NULL, JOB_PREFIX, JOB_INTERFACE, job_vtable, find_job, api);
        return r < 0 ? r : sd_bus_add_node_enumerator(api->bus, NULL, JOB_PREFIX, enumerate_jobs, api);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/callers.h"
#include "api/objects.h"
#include "basic/log.h"
#include "job/end.h"
#include "job/job-queue.h"

/* The objects of volumes and jobs, and org.freedesktop.LogControl1, through which systemctl service-log-level
 * reads and changes the log level. authorize_filter() checks access to all properties. */

/* A text that is computed; sd-bus reads texts that are members of the object by their offset. */
typedef struct TextProperty {
        const char *name, *text;
} TextProperty;

static int append_text(sd_bus_message *reply, const char *name, const TextProperty *all, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(all[i].name, name))
                        return sd_bus_message_append(reply, "s", all[i].text);
        return -EINVAL;
}

/* The vtable passes the object; the Api is the userdata of the prefix's slot. */
static Api *api_of(sd_bus *bus) {
        return sd_bus_slot_get_userdata(sd_bus_get_current_slot(bus));
}

static int object_find_volume(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                              sd_bus_error *error) {
        const Api *api = userdata;
        _cleanup_free_ char *id = NULL;
        Volume *v;

        if (sd_bus_path_decode(path, VOLUME_PREFIX, &id) <= 0)
                return 0;
        v = volumes_find(&api->state->volumes, id);
        if (!v)
                return 0;
        *ret_found = v;
        return 1;
}

static int enumerate_volumes(sd_bus *bus, const char *prefix, void *userdata, char ***ret, sd_bus_error *error) {
        _cleanup_strv_ char **paths = NULL;
        const Api *api = userdata;
        Volume *v, *next;
        int r;

        HASH_ITER (hh, api->state->volumes.table, v, next) {
                r = strv_consume(&paths, volume_path(v->id));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 1;
}

static int volume_get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                           sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;
        const TextProperty all[] = {
                { "AccessMode", access_mode_to_string(v->access_mode) },
                { "Strategy", strategy_to_string(v->strategy) },
                { "LabelState", files_state_to_string(v->mark.label_state) },
                { "OwnershipState", files_state_to_string(v->mark.ownership_state) },
        };

        return append_text(reply, property, all, ELEMENTSOF(all));
}

static int volume_get_tainted(sd_bus *bus, const char *path, const char *interface, const char *property,
                              sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;

        return sd_bus_message_append(reply, "b", (int) v->mark.tainted);
}

static int volume_get_mounted_elsewhere(sd_bus *bus, const char *path, const char *interface, const char *property,
                                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;

        return sd_bus_message_append(reply, "b", (int) v->mounted_elsewhere);
}

static int volume_get_disk_group(sd_bus *bus, const char *path, const char *interface, const char *property,
                                 sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;

        return sd_bus_message_append(reply, "u", v->mark.ownership_state == FILES_UNKNOWN ? GID_NONE : v->mark.gid);
}

static int volume_get_holders(sd_bus *bus, const char *path, const char *interface, const char *property,
                              sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Dict d = { .m = reply };

        dict_append_holders(&d, userdata);
        return d.error;
}

static int volume_get_job(sd_bus *bus, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Api *api = api_of(bus);
        _cleanup_free_ char *object = NULL;
        const Volume *v = userdata;
        const Job *job = job_find_running(api->jobs, v->id);

        object = job ? job_path(job->id) : strdup("/");
        return object ? sd_bus_message_append(reply, "o", object) : -ENOMEM;
}

static const sd_bus_vtable volume_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "s", NULL, offsetof(Volume, id), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Source", "s", NULL, offsetof(Volume, source), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("FSType", "s", NULL, offsetof(Volume, fs_type), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Driver", "s", NULL, offsetof(Volume, driver), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("VolumeType", "s", NULL, offsetof(Volume, volume_type), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("AccessMode", "s", volume_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Strategy", "s", volume_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", NULL, offsetof(Volume, context), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelState", "s", volume_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelContext", "s", NULL, offsetof(Volume, mark.context),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Tainted", "b", volume_get_tainted, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holders", "aa{sv}", volume_get_holders, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("OwnershipState", "s", volume_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("DiskGroup", "u", volume_get_disk_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("MountOptions", "as", NULL, offsetof(Volume, mount_options),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastVerifiedUSec", "t", NULL, offsetof(Volume, last_verified_usec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastUsedUSec", "t", NULL, offsetof(Volume, last_used_usec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("MountedElsewhere", "b", volume_get_mounted_elsewhere, 0,
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Job", "o", volume_get_job, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

/* An id with a leading zero names no job. */
static int object_find_job(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                           sd_bus_error *error) {
        const Api *api = userdata;
        const char *element = startswith(path, JOB_PREFIX "/");
        unsigned long long id;
        Job *job;

        if (!element || element[0] == '0' || parse_u64(element, &id) < 0)
                return 0;
        job = job_find(api->jobs, id);
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

static int job_get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        bool ended = job_has_ended(job);
        const TextProperty all[] = {
                { "Operation", operation_to_string(job->operation) },
                { "Context", job_context(job) },
                { "State", job_state_word(job) },
                { "Result", job_result(job) },
                { "ErrorName", ended && job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "" },
                { "ErrorMessage", ended ? job->failure.message : "" },
        };

        return append_text(reply, property, all, ELEMENTSOF(all));
}

/* A list of all objects has this property of each job. */
static size_t count_shown(const Plan *p) {
        size_t bytes = 0, n = 0;

        while (n < p->n_conflicts && bytes + conflict_count_bytes(&p->conflicts[n]) <= WAITS_FOR_BYTES)
                bytes += conflict_count_bytes(&p->conflicts[n++]);
        return n;
}

static void append_front(Dict *d, const Job *front) {
        dict_open(d, 'a', "a{sv}");
        if (front) {
                dict_open(d, 'a', "{sv}");
                dict_put(d, "Job", "t", front->id);
                dict_put(d, "Operation", "s", operation_to_string(front->operation));
                dict_put(d, "Volume", "s", front->request.volume);
                if (strlen(strempty(front->request.target)) <= WAITS_FOR_BYTES / 2)
                        dict_put_string(d, "Target", front->request.target);
                dict_close(d);
        }
        dict_close(d);
}

static int job_get_callers(sd_bus *bus, const char *path, const char *interface, const char *property,
                           sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;

        return sd_bus_message_append(reply, "u", (uint32_t) (job->n_waiters + job->n_followers));
}

/* By the clock that StartedUSec has. */
static int job_get_ended(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        const uint64_t passed = job->ended_usec - job->started_usec;

        return sd_bus_message_append(reply, "t", job_has_ended(job) ? job->started_realtime_usec + passed : 0);
}

static int job_get_timeout(sd_bus *bus, const char *path, const char *interface, const char *property,
                           sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "t", job_timeout_usec(userdata));
}

static int job_get_waits_for(sd_bus *bus, const char *path, const char *interface, const char *property,
                             sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        Dict d = { .m = reply };

        if (queue_waits_for_conflict(job))
                dict_append_conflicts(&d, job->plan.conflicts, count_shown(&job->plan));
        else
                append_front(&d, queue_get_front(job));
        return d.error;
}

static int method_wait(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Api *api = api_of(sd_bus_message_get_bus(call));
        Job *job = userdata;
        int r;

        r = authorize_volume(api, call, job->request.volume, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return call_follow(api, call, job, error);
}

static int method_cancel(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Api *api = api_of(sd_bus_message_get_bus(call));
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
        SD_BUS_PROPERTY("Operation", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Volume", "s", NULL, offsetof(Job, request.volume), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Target", "s", NULL, offsetof(Job, request.target), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holder", "s", NULL, offsetof(Job, request.holder), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("State", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("WaitsFor", "aa{sv}", job_get_waits_for, 0, 0),
        SD_BUS_PROPERTY("Callers", "u", job_get_callers, 0, 0),
        SD_BUS_PROPERTY("TimeoutUSec", "t", job_get_timeout, 0, 0),
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
        SD_BUS_PROPERTY("EndedUSec", "t", job_get_ended, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ExpectedEndUSec", "t", NULL, offsetof(Job, progress.expected_end_usec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorName", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorMessage", "s", job_get_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

static int log_get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const TextProperty all[] = {
                { "LogLevel", log_level_to_string(log_get_level()) },
                { "LogTarget", log_get_target() },
                { "SyslogIdentifier", program_invocation_short_name },
        };

        return append_text(reply, property, all, ELEMENTSOF(all));
}

static int set_log_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *value, void *userdata, sd_bus_error *error) {
        const char *level;
        int r;

        r = sd_bus_message_read(value, "s", &level);
        if (r < 0)
                return r;
        r = log_set_level_from_string(level);
        if (r < 0)
                return sd_bus_error_set(
                        error, SD_BUS_ERROR_INVALID_ARGS,
                        "LogLevel takes emerg, alert, crit, err, warning, notice, info, debug, or 0 to 7.");
        log_notice("Log level set to %s.", log_level_to_string(log_get_level()));
        return 0;
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", log_get_text, set_log_level, 0, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("LogTarget", "s", log_get_text, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", log_get_text, 0, 0),
        SD_BUS_VTABLE_END,
};

int objects_add(Api *api) {
        int r;

        r = sd_bus_add_fallback_vtable(api->bus, NULL, VOLUME_PREFIX, VOLUME_INTERFACE, volume_vtable,
                                       object_find_volume, api);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(api->bus, NULL, VOLUME_PREFIX, enumerate_volumes, api);
        if (r >= 0)
                r = sd_bus_add_fallback_vtable(api->bus, NULL, JOB_PREFIX, JOB_INTERFACE, job_vtable, object_find_job,
                                               api);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(api->bus, NULL, JOB_PREFIX, enumerate_jobs, api);
        if (r >= 0)
                r = sd_bus_add_object_vtable(api->bus, NULL, "/org/freedesktop/LogControl1",
                                             "org.freedesktop.LogControl1", log_control_vtable, NULL);
        return r;
}

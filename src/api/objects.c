/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/callers.h"
#include "api/objects.h"
#include "basic/log.h"
#include "job/end.h"
#include "job/line.h"

/* The objects of volumes and jobs, and org.freedesktop.LogControl1, by which systemctl service-log-level
 * reads and changes the log level. Access to all properties is checked in one place, authorize_filter(). */

/* A function that answers for a property with an expression of its object, which is declared as "const TYPE
 * *NAME". */
#define PROPERTY_GETTER(name, object, type, expression)                                             \
        static int name(sd_bus *bus, const char *path, const char *interface, const char *property, \
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {               \
                object = userdata;                                                                  \
                                                                                                    \
                return sd_bus_message_append(reply, type, expression);                              \
        }                                                                                           \
        struct name##_needs_a_semicolon

/* The vtable hands out the object; the api comes from the prefix' slot. */
static Api *api_of(sd_bus *bus) {
        return sd_bus_slot_get_userdata(sd_bus_get_current_slot(bus));
}

static int find_volume(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
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

PROPERTY_GETTER(volume_get_id, const Volume *v, "s", v->id);
PROPERTY_GETTER(volume_get_source, const Volume *v, "s", v->source);
PROPERTY_GETTER(volume_get_fs_type, const Volume *v, "s", v->fs_type);
PROPERTY_GETTER(volume_get_driver, const Volume *v, "s", strempty(v->driver));
PROPERTY_GETTER(volume_get_volume_type, const Volume *v, "s", v->volume_type);
PROPERTY_GETTER(volume_get_access_mode, const Volume *v, "s", access_mode_to_string(v->access_mode));
PROPERTY_GETTER(volume_get_strategy, const Volume *v, "s", strategy_to_string(v->strategy));
PROPERTY_GETTER(volume_get_context, const Volume *v, "s", v->context);
PROPERTY_GETTER(volume_get_label_state, const Volume *v, "s", files_state_to_string(v->mark.label_state));
PROPERTY_GETTER(volume_get_label_context, const Volume *v, "s", strempty(v->mark.context));
PROPERTY_GETTER(volume_get_tainted, const Volume *v, "b", (int) v->mark.tainted);
PROPERTY_GETTER(volume_get_ownership_state, const Volume *v, "s", files_state_to_string(v->mark.ownership_state));
PROPERTY_GETTER(volume_get_disk_group, const Volume *v, "u",
                v->mark.ownership_state == FILES_UNKNOWN ? GID_NONE : v->mark.gid);
PROPERTY_GETTER(volume_get_last_verified, const Volume *v, "t", v->last_verified_usec);

static int volume_get_mount_options(sd_bus *bus, const char *path, const char *interface, const char *property,
                                    sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;

        return sd_bus_message_append_strv(reply, v->mount_options);
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
        SD_BUS_PROPERTY("Id", "s", volume_get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Source", "s", volume_get_source, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("FSType", "s", volume_get_fs_type, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Driver", "s", volume_get_driver, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("VolumeType", "s", volume_get_volume_type, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("AccessMode", "s", volume_get_access_mode, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Strategy", "s", volume_get_strategy, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", volume_get_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelState", "s", volume_get_label_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelContext", "s", volume_get_label_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Tainted", "b", volume_get_tainted, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holders", "aa{sv}", volume_get_holders, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("OwnershipState", "s", volume_get_ownership_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("DiskGroup", "u", volume_get_disk_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("MountOptions", "as", volume_get_mount_options, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastVerifiedUSec", "t", volume_get_last_verified, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Job", "o", volume_get_job, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

/* An id has one form only. */
static int find_job(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
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

PROPERTY_GETTER(job_get_operation, const Job *job, "s", operation_to_string(job->operation));
PROPERTY_GETTER(job_get_context, const Job *job, "s", job_context(job));
PROPERTY_GETTER(job_get_target, const Job *job, "s", strempty(job->request.target));
PROPERTY_GETTER(job_get_holder, const Job *job, "s", strempty(job->request.holder));
PROPERTY_GETTER(job_get_state, const Job *job, "s", job_state_word(job));
PROPERTY_GETTER(job_get_result, const Job *job, "s", job_result(job));
PROPERTY_GETTER(job_get_error_name, const Job *job, "s",
                job_has_ended(job) && job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "");
PROPERTY_GETTER(job_get_error_message, const Job *job, "s", job_has_ended(job) ? strempty(job->failure.message) : "");

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

static int job_get_waits_for(sd_bus *bus, const char *path, const char *interface, const char *property,
                             sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *job = userdata;
        Dict d = { .m = reply };

        if (line_waits_for_conflict(job))
                dict_append_conflicts(&d, &job->plan);
        else
                append_front(&d, line_get_front(job));
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
        SD_BUS_PROPERTY("Operation", "s", job_get_operation, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Volume", "s", NULL, offsetof(Job, request.volume), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Target", "s", job_get_target, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holder", "s", job_get_holder, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", job_get_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("State", "s", job_get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("WaitsFor", "aa{sv}", job_get_waits_for, 0, 0),
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
        SD_BUS_PROPERTY("Result", "s", job_get_result, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorName", "s", job_get_error_name, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("ErrorMessage", "s", job_get_error_message, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

static int get_log_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", log_level_to_string(log_get_level()));
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

static int get_log_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", log_get_target());
}

static int get_syslog_identifier(sd_bus *bus, const char *path, const char *interface, const char *property,
                                 sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", program_invocation_short_name);
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_log_level, set_log_level, 0, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("LogTarget", "s", get_log_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_syslog_identifier, 0, 0),
        SD_BUS_VTABLE_END,
};

int objects_add(Api *api) {
        int r;

        r = sd_bus_add_fallback_vtable(api->bus, NULL, VOLUME_PREFIX, VOLUME_INTERFACE, volume_vtable, find_volume,
                                       api);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(api->bus, NULL, VOLUME_PREFIX, enumerate_volumes, api);
        if (r >= 0)
                r = sd_bus_add_fallback_vtable(api->bus, NULL, JOB_PREFIX, JOB_INTERFACE, job_vtable, find_job, api);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(api->bus, NULL, JOB_PREFIX, enumerate_jobs, api);
        if (r >= 0)
                r = sd_bus_add_object_vtable(api->bus, NULL, "/org/freedesktop/LogControl1",
                                             "org.freedesktop.LogControl1", log_control_vtable, NULL);
        return r;
}

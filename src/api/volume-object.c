/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/dict.h"
#include "api/objects.h"
#include "api/paths.h"

static int find_volume(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                       sd_bus_error *error) {
        const Api *api = userdata;
        Volume *v = volume_of_path(api->state, path);

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

#define PROPERTY_GETTER(name, type, expression) DEFINE_PROPERTY_GETTER(name, const Volume *v, type, expression)

PROPERTY_GETTER(get_id, "s", v->id);
PROPERTY_GETTER(get_source, "s", v->source);
PROPERTY_GETTER(get_fs_type, "s", v->fs_type);
PROPERTY_GETTER(get_driver, "s", strempty(v->driver));
PROPERTY_GETTER(get_volume_type, "s", v->volume_type);
PROPERTY_GETTER(get_access_mode, "s", access_mode_to_string(v->access_mode));
PROPERTY_GETTER(get_strategy, "s", strategy_to_string(v->strategy));
PROPERTY_GETTER(get_context, "s", v->context);
PROPERTY_GETTER(get_label_state, "s", files_state_to_string(v->mark.label_state));
PROPERTY_GETTER(get_label_context, "s", strempty(v->mark.context));
PROPERTY_GETTER(get_tainted, "b", (int) v->mark.tainted);
PROPERTY_GETTER(get_ownership_state, "s", files_state_to_string(v->mark.ownership_state));
PROPERTY_GETTER(get_disk_group, "u", v->mark.ownership_state == FILES_UNKNOWN ? GID_NONE : v->mark.gid);
PROPERTY_GETTER(get_last_verified, "t", v->last_verified_usec);

static int get_mount_options(sd_bus *bus, const char *path, const char *interface, const char *property,
                             sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;

        return sd_bus_message_append_strv(reply, v->mount_options);
}

static int get_holders(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Dict d = { .m = reply };

        dict_append_holders(&d, userdata);
        return d.error;
}

/* The vtable hands out the volume; the api comes from the prefix' slot. */
static int get_job(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                   void *userdata, sd_bus_error *error) {
        const Api *api = sd_bus_slot_get_userdata(sd_bus_get_current_slot(bus));
        _cleanup_free_ char *object = NULL;
        const Volume *v = userdata;
        const Job *job = job_find_running(api->jobs, v->id);

        object = job ? job_path(job->id) : strdup("/");
        return object ? sd_bus_message_append(reply, "o", object) : -ENOMEM;
}

static const sd_bus_vtable volume_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "s", get_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Source", "s", get_source, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("FSType", "s", get_fs_type, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Driver", "s", get_driver, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("VolumeType", "s", get_volume_type, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("AccessMode", "s", get_access_mode, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Strategy", "s", get_strategy, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Context", "s", get_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelState", "s", get_label_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LabelContext", "s", get_label_context, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Tainted", "b", get_tainted, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holders", "aa{sv}", get_holders, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("OwnershipState", "s", get_ownership_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("DiskGroup", "u", get_disk_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("MountOptions", "as", get_mount_options, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastVerifiedUSec", "t", get_last_verified, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Job", "o", get_job, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

int volume_objects_add(Api *api) {
        int r;

        r = sd_bus_add_fallback_vtable(api->bus, NULL, VOLUME_PREFIX, VOLUME_INTERFACE, volume_vtable, find_volume,
                                       api);
        return r < 0 ? r : sd_bus_add_node_enumerator(api->bus, NULL, VOLUME_PREFIX, enumerate_volumes, api);
}

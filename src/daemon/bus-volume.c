/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "daemon/authorise.h"
#include "daemon/bus-job.h"
#include "daemon/bus-util.h"
#include "daemon/bus-volume.h"

char *volume_bus_path(const char *id) {
        char *path;

        return sd_bus_path_encode(VOLUME_PREFIX, id, &path) < 0 ? NULL : path;
}

static Volume *find_by_path(Manager *m, const char *path) {
        _cleanup_free_ char *id = NULL;

        return sd_bus_path_decode(path, VOLUME_PREFIX, &id) > 0 ? volumes_find(&m->volumes, id) : NULL;
}

static int find_volume(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                       sd_bus_error *error) {
        Volume *v = find_by_path(userdata, path);

        if (!v)
                return 0;
        *ret_found = v;
        return 1;
}

static int enumerate_volumes(sd_bus *bus, const char *prefix, void *userdata, char ***ret, sd_bus_error *error) {
        _cleanup_strv_ char **paths = NULL;
        Manager *m = userdata;
        Volume *v, *next;
        int r;

        HASH_ITER (hh, m->volumes.table, v, next) {
                r = strv_consume(&paths, volume_bus_path(v->id));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 1;
}

#define PROPERTY_GETTER(name, type, expression)                                                     \
        static int name(sd_bus *bus, const char *path, const char *interface, const char *property, \
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {               \
                const Volume *v = userdata;                                                         \
                                                                                                    \
                return sd_bus_message_append(reply, type, expression);                              \
        }                                                                                           \
        struct name##_needs_a_semicolon

PROPERTY_GETTER(get_id, "s", v->id);
PROPERTY_GETTER(get_source, "s", v->source);
PROPERTY_GETTER(get_fs_type, "s", v->fs_type);
PROPERTY_GETTER(get_driver, "s", strempty(v->driver));
PROPERTY_GETTER(get_volume_type, "s", v->volume_type);
PROPERTY_GETTER(get_access_mode, "s", access_mode_to_string(v->access_mode));
PROPERTY_GETTER(get_strategy, "s", strategy_to_string(v->strategy));
PROPERTY_GETTER(get_context, "s", v->context);
PROPERTY_GETTER(get_label_state, "s", record_state_to_string(v->record.label_state));
PROPERTY_GETTER(get_label_context, "s", strempty(v->record.context));
PROPERTY_GETTER(get_tainted, "b", (int) v->record.tainted);
PROPERTY_GETTER(get_ownership_state, "s", record_state_to_string(v->record.ownership_state));
PROPERTY_GETTER(get_disk_group, "u", v->record.ownership_state == STATE_UNKNOWN ? GID_NONE : v->record.gid);
PROPERTY_GETTER(get_last_verified, "t", v->last_verified_usec);

static int get_holders(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Volume *v = userdata;
        const Holder *h;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(sssbbtuu)");
        LL_FOREACH (v->holders, h)
                if (r >= 0)
                        r = sd_bus_message_append(reply, "(sssbbtuu)", h->name, h->target,
                                                  holder_state_to_string(h->state), (int) h->read_only,
                                                  (int) h->adopted, h->since_usec, h->fs_group, h->disk_gid);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* As with the history, the manager comes from the prefix' slot. */
static int get_job(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                   void *userdata, sd_bus_error *error) {
        const Manager *m = sd_bus_slot_get_userdata(sd_bus_get_current_slot(bus));
        _cleanup_free_ char *job = NULL;
        const Volume *v = userdata;
        const JobObject *o = job_object_find_running(m, v->id);

        job = o ? job_bus_path(o->id) : strdup("/");
        return job ? sd_bus_message_append(reply, "o", job) : -ENOMEM;
}

static int append_history_entry(sd_bus_message *reply, const HistoryEntry *e) {
        const struct {
                const char *key, *value;
        } details[] = { { "Target", e->target },
                        { "Holder", e->holder },
                        { "Context", e->context },
                        { "Caller", e->caller },
                        { "Text", e->text } };
        int r;

        r = sd_bus_message_open_container(reply, 'r', "tsssa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "tsss", e->time_usec, e->operation, e->result, e->reason);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        for (size_t i = 0; i < ELEMENTSOF(details) && r >= 0; i++)
                if (!isempty(details[i].value))
                        r = bus_append_option(reply, details[i].key, "s", details[i].value);
        if (r >= 0)
                r = bus_append_option(reply, "DurationUSec", "t", e->duration_usec);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_history(sd_bus_message *reply, Store *store, const char *id) {
        HistoryEntry *entries;
        size_t n;
        int r;

        r = store_get_history(store, id, &entries, &n);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "(tsssa{sv})");
        for (size_t i = 0; i < n; i++) {
                if (r >= 0)
                        r = append_history_entry(reply, &entries[i]);
                history_entry_done(&entries[i]);
        }
        free(entries);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* The vtable hands out the volume; the manager comes from the prefix' slot. */
static int method_get_history(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const Volume *v = userdata;
        Manager *m = sd_bus_slot_get_userdata(sd_bus_get_current_slot(sd_bus_message_get_bus(call)));
        int r;

        r = authorise(m, call, v->id, "", "", error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_history(reply, m->store, v->id);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static const sd_bus_vtable volume_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("GetHistory", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(tsssa{sv})", history),
                                method_get_history, SD_BUS_VTABLE_UNPRIVILEGED),
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
        SD_BUS_PROPERTY("Holders", "a(sssbbtuu)", get_holders, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("OwnershipState", "s", get_ownership_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("FSGroup", "u", get_disk_group, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("LastVerifiedUSec", "t", get_last_verified, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Job", "o", get_job, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

int volume_bus_register(Manager *m) {
        int r;

        r = sd_bus_add_fallback_vtable(m->bus, NULL, VOLUME_PREFIX, VOLUME_INTERFACE, volume_vtable, find_volume, m);
        return r < 0 ? r : sd_bus_add_node_enumerator(m->bus, NULL, VOLUME_PREFIX, enumerate_volumes, m);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include <utlist.h>

#include "api/api.h"
#include "basic/log.h"
#include "wire/peer.h"

int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error) {
        if (r < 0)
                return r;
        metrics_count(api->state->metrics, METRIC_REFUSALS, failure_kind_to_string(f->kind));
        return peer_error_set(error, f);
}

void api_leave(Api *api, const char *why) {
        int enabled;

        if (sd_event_source_get_enabled(api->leave, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;
        log_warning("%s: reconnecting to the bus; callers that wait get NoReply.", why);
        (void) sd_event_source_set_enabled(api->leave, SD_EVENT_ONESHOT);
}

char *volume_path(const char *id) {
        char *path;

        return sd_bus_path_encode(VOLUME_PREFIX, id, &path) < 0 ? NULL : path;
}

char *job_path(uint64_t id) {
        return strdup_printf(JOB_PREFIX "/%llu", (unsigned long long) id);
}

static void dict_note(Dict *d, int r) {
        if (r < 0 && d->error == 0)
                d->error = r;
}

void dict_open(Dict *d, char type, const char *contents) {
        if (d->error == 0)
                dict_note(d, sd_bus_message_open_container(d->m, type, contents));
}

void dict_close(Dict *d) {
        if (d->error == 0)
                dict_note(d, sd_bus_message_close_container(d->m));
}

void dict_open_entry(Dict *d, const char *key, const char *type) {
        dict_open(d, 'e', "sv");
        if (d->error == 0)
                dict_note(d, sd_bus_message_append(d->m, "s", key));
        dict_open(d, 'v', type);
}

void dict_close_entry(Dict *d) {
        dict_close(d);
        dict_close(d);
}

void dict_put(Dict *d, const char *key, const char *type, ...) {
        va_list ap;

        dict_open_entry(d, key, type);
        va_start(ap, type);
        if (d->error == 0)
                dict_note(d, sd_bus_message_appendv(d->m, type, ap));
        va_end(ap);
        dict_close_entry(d);
}

void dict_put_string(Dict *d, const char *key, const char *value) {
        if (!isempty(value))
                dict_put(d, key, "s", value);
}

void dict_put_true(Dict *d, const char *key, bool value) {
        if (value)
                dict_put(d, key, "b", 1);
}

void dict_put_u64(Dict *d, const char *key, uint64_t value) {
        if (value > 0)
                dict_put(d, key, "t", value);
}

void dict_put_gid(Dict *d, const char *key, gid_t gid) {
        if (gid != GID_NONE)
                dict_put(d, key, "u", gid);
}

void dict_put_strv(Dict *d, const char *key, char *const *l) {
        if (strv_length(l) == 0)
                return;
        dict_open_entry(d, key, "as");
        if (d->error == 0)
                dict_note(d, sd_bus_message_append_strv(d->m, (char **) l));
        dict_close_entry(d);
}

void dict_append_conflicts(Dict *d, const Conflict *conflicts, size_t n) {
        dict_open(d, 'a', "a{sv}");
        for (size_t i = 0; i < n; i++) {
                const Conflict *c = &conflicts[i];

                dict_open(d, 'a', "{sv}");
                dict_put_string(d, "Volume", c->volume);
                dict_put_string(d, "Holder", c->holder);
                dict_put_string(d, "Target", c->target);
                dict_put_string(d, "Context", c->context);
                dict_put_u64(d, "SinceUSec", c->since_usec);
                dict_close(d);
        }
        dict_close(d);
}

void dict_append_holders(Dict *d, const Volume *v) {
        const Holder *h;

        dict_open(d, 'a', "a{sv}");
        LL_FOREACH (v->holders, h) {
                dict_open(d, 'a', "{sv}");
                dict_put(d, "Holder", "s", h->name);
                dict_put(d, "Target", "s", h->target);
                dict_put(d, "State", "s", holder_state_to_string(h->state));
                dict_put(d, "ReadOnly", "b", (int) h->read_only);
                dict_put(d, "Adopted", "b", (int) h->adopted);
                dict_put_string(d, "Device", h->device);
                dict_put_string(d, "Image", startswith(strempty(h->superblock), "image:"));
                dict_put_string(d, "CoveredBy", h->covered_by);
                dict_put_string(d, "AlsoAt", h->also_at);
                dict_put(d, "SinceUSec", "t", h->since_usec);
                dict_put_string(d, "Context", h->context);
                dict_put_gid(d, "FSGroup", h->fs_group);
                dict_put_gid(d, "DiskGroup", h->disk_gid);
                dict_close(d);
        }
        dict_close(d);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/dict.h"

static int zero_or_error(int r) {
        return r < 0 ? r : 0;
}

int dict_append_string(sd_bus_message *m, const char *key, const char *value) {
        return isempty(value) ? 0 : zero_or_error(sd_bus_message_append(m, "{sv}", key, "s", value));
}

int dict_append_true(sd_bus_message *m, const char *key, bool value) {
        return value ? zero_or_error(sd_bus_message_append(m, "{sv}", key, "b", 1)) : 0;
}

int dict_append_u64(sd_bus_message *m, const char *key, uint64_t value) {
        return value == 0 ? 0 : zero_or_error(sd_bus_message_append(m, "{sv}", key, "t", value));
}

int dict_append_gid(sd_bus_message *m, const char *key, gid_t gid) {
        return gid == GID_NONE ? 0 : zero_or_error(sd_bus_message_append(m, "{sv}", key, "u", gid));
}

int dict_append_strv(sd_bus_message *m, const char *key, char *const *l) {
        int r;

        if (strv_length(l) == 0)
                return 0;
        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", key);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "as");
        if (r < 0)
                return r;
        r = sd_bus_message_append_strv(m, (char **) l);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        if (r < 0)
                return r;
        return zero_or_error(sd_bus_message_close_container(m));
}

static int conflict_append(sd_bus_message *m, const Conflict *c) {
        const struct {
                const char *key, *value;
        } strings[] = {
                { "Volume", c->volume }, { "Holder", c->holder }, { "Target", c->target }, { "Context", c->context }
        };
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                r = dict_append_string(m, strings[i].key, strings[i].value);
                if (r < 0)
                        return r;
        }
        r = dict_append_u64(m, "SinceUSec", c->since_usec);
        if (r < 0)
                return r;
        return zero_or_error(sd_bus_message_close_container(m));
}

int conflicts_append(sd_bus_message *m, const Plan *p) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "a{sv}");
        if (r < 0)
                return r;
        for (size_t i = 0; i < p->n_conflicts; i++) {
                r = conflict_append(m, &p->conflicts[i]);
                if (r < 0)
                        return r;
        }
        return zero_or_error(sd_bus_message_close_container(m));
}

static int holder_append(sd_bus_message *m, const Holder *h) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "{sv}{sv}{sv}{sv}{sv}{sv}", "Holder", "s", h->name, "Target", "s", h->target,
                                  "State", "s", holder_state_to_string(h->state), "ReadOnly", "b", (int) h->read_only,
                                  "Adopted", "b", (int) h->adopted, "SinceUSec", "t", h->since_usec);
        if (r < 0)
                return r;
        r = dict_append_string(m, "Context", h->context);
        if (r < 0)
                return r;
        r = dict_append_gid(m, "FSGroup", h->fs_group);
        if (r < 0)
                return r;
        r = dict_append_gid(m, "DiskGroup", h->disk_gid);
        if (r < 0)
                return r;
        return zero_or_error(sd_bus_message_close_container(m));
}

int holders_append(sd_bus_message *m, const Volume *v) {
        const Holder *h;
        int r;

        r = sd_bus_message_open_container(m, 'a', "a{sv}");
        if (r < 0)
                return r;
        LL_FOREACH (v->holders, h) {
                r = holder_append(m, h);
                if (r < 0)
                        return r;
        }
        return zero_or_error(sd_bus_message_close_container(m));
}

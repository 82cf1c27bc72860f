/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bus.h"

/* Reading what there is of a kind: org.freedesktop.DBus.ObjectManager. */

typedef struct Reading {
        const char *interface;
        Table *table;
        OtherKey other;
        int (*done)(Table *t);
        void *userdata;
} Reading;

static int read_properties(sd_bus_message *m, const Reading *g) {
        int r;

        r = bus_read_row(m, g->table, g->other, g->userdata);
        return r >= 0 && g->done ? g->done(g->table) : r;
}

/* a{sa{sv}}: the properties of one object by interface. */
static int read_object(sd_bus_message *m, const Reading *g) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sa{sv}}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sa{sv}")) > 0) {
                const char *interface;

                r = sd_bus_message_read_basic(m, 's', &interface);
                if (r < 0)
                        return r;
                r = streq(interface, g->interface) ? read_properties(m, g) : sd_bus_message_skip(m, "a{sv}");
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_objects(sd_bus_message *m, const Reading *g) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{oa{sa{sv}}}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "oa{sa{sv}}")) > 0) {
                r = sd_bus_message_skip(m, "o");
                if (r >= 0)
                        r = read_object(m, g);
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : 0;
}

int bus_read_objects(sd_bus *bus, const char *interface, Table *t, OtherKey other, int (*done)(Table *t),
                     void *userdata) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        const Reading reading = { interface, t, other, done, userdata };
        int r;

        r = bus_new_call(bus, MANAGER_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", &call);
        if (r >= 0)
                r = bus_call(bus, call, NULL, ANSWER_SOON, &reply);
        return r != 0 ? r : read_objects(reply, &reading);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

static const Column issue_columns[] = {
        { "VOLUME", .detail = true },
        { "PATH", .escaped = true },
        { "MESSAGE", .escaped = true },
};

int issues_new(const char *name, Table **ret) {
        return table_new(name, issue_columns, ELEMENTSOF(issue_columns), ret);
}

int issues_read(sd_bus_message *m, const char *volume, Table *t) {
        int r;

        r = sd_bus_message_enter_container(m, 'v', "a(ss)");
        if (r >= 0)
                r = bus_read_structs(m, "ss", volume, t);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 1;
}

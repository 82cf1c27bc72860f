/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/verbs.h"

const Column volume_columns[VOLUME_COLUMNS] = {
        [VOLUME_ID_COLUMN] = { "VOLUME", "Volume", "Id" },
        { "STRATEGY", "Strategy", "Strategy" },
        { "CONTEXT", "Context", "Context" },
        { "LABEL_STATE", "Label state", "LabelState", .detail = true },
        { "LABEL_CONTEXT", "Label context", "LabelContext", .detail = true },
        { "TAINTED", "Tainted", "Tainted", CELL_BOOLEAN, .detail = true },
        { "OWNERSHIP_STATE", "Ownership state", "OwnershipState", .detail = true },
        { "DISK_GROUP", "Group on disk", "FSGroup", CELL_GROUP, .detail = true },
        { "FSTYPE", "File system", "FSType" },
        { "SOURCE", "Source", "Source" },
        { "DRIVER", "Driver", "Driver", .detail = true },
        { "VOLUME_TYPE", "Volume type", "VolumeType", .detail = true },
        { "ACCESS_MODE", "Access mode", "AccessMode", .detail = true },
        { "LAST_VERIFIED_USEC", "Last verified", "LastVerifiedUSec", CELL_TIME, .detail = true },
        { "JOB", "Job", "Job", CELL_JOB, .detail = true },
        [VOLUME_HOLDERS_COLUMN] = { "HOLDERS", NULL, NULL, CELL_NUMBER },
};

static int count_holders(const char *key, sd_bus_message *m, void *userdata) {
        Table *t = userdata;
        uint64_t n = 0;
        int r;

        if (!streq(key, "Holders"))
                return 0;

        r = sd_bus_message_enter_container(m, 'v', "a(" HOLDER_MEMBERS ")");
        if (r >= 0)
                r = sd_bus_message_enter_container(m, 'a', "(" HOLDER_MEMBERS ")");
        while (r >= 0 && (r = sd_bus_message_at_end(m, false)) == 0) {
                r = sd_bus_message_skip(m, "(" HOLDER_MEMBERS ")");
                n++;
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r >= 0)
                r = table_set_number(t, VOLUME_HOLDERS_COLUMN, n);
        return r < 0 ? r : 1;
}

int print_list(const Args *a, Table *t, const char *word) {
        int r;

        if (a->json)
                return tables_print_json(&t, 1);
        r = table_print(t, a->legend, colours_wanted(STDOUT_FILENO));
        if (r >= 0 && a->legend)
                printf("%s%zu %s%s listed.\n", table_rows(t) > 0 ? "\n" : "", table_rows(t), word,
                       table_rows(t) == 1 ? "" : "s");
        return r;
}

int verb_list(sd_bus *bus, const Args *a) {
        _cleanup_table_ Table *t = NULL;
        int r;

        r = table_new("volumes", volume_columns, ELEMENTSOF(volume_columns), &t);
        if (r >= 0)
                r = bus_read_objects(bus, VOLUME_INTERFACE, t, count_holders, NULL, t);
        if (r != 0)
                return r;
        table_sort(t, VOLUME_ID_COLUMN);
        return print_list(a, t, "volume");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bus.h"

/* The bus library's "1: there was one to leave" would be taken for an exit code further up. */
static int leave(sd_bus_message *m) {
        int r = sd_bus_message_exit_container(m);

        return r < 0 ? r : 0;
}

static const char *signature_of(CellType type) {
        static const char *const signatures[] = {
                [CELL_STRING] = "s",   [CELL_BOOLEAN] = "b", [CELL_NUMBER] = "t", [CELL_TIME] = "t",
                [CELL_DURATION] = "t", [CELL_GROUP] = "u",   [CELL_JOB] = "o",    [CELL_LIST] = "as",
        };

        return signatures[type];
}

static int read_list(sd_bus_message *m, Table *t, size_t column) {
        _cleanup_strv_ char **list = NULL;
        int r;

        r = sd_bus_message_read_strv(m, &list);
        return r < 0 ? r : table_set_list(t, column, list);
}

static int read_cell(sd_bus_message *m, Table *t, size_t column) {
        size_t n;
        CellType type = table_columns(t, &n)[column].type;
        const char *string;
        uint64_t number;
        uint32_t group;
        int boolean, r;

        switch (type) {
        case CELL_LIST:
                return read_list(m, t, column);
        case CELL_BOOLEAN:
                r = sd_bus_message_read_basic(m, 'b', &boolean);
                return r < 0 ? r : table_set_boolean(t, column, boolean);
        case CELL_STRING:
                r = sd_bus_message_read_basic(m, 's', &string);
                return r < 0 ? r : table_set_string(t, column, string);
        case CELL_GROUP:
                r = sd_bus_message_read_basic(m, 'u', &group);
                return r < 0 ? r : table_set_number(t, column, group);
        case CELL_JOB:
                r = sd_bus_message_read_basic(m, 'o', &string);
                return r < 0 ? r : table_set_number(t, column, job_id_of(string));
        default:
                r = sd_bus_message_read_basic(m, 't', &number);
                return r < 0 ? r : table_set_number(t, column, number);
        }
}

static int read_entry(sd_bus_message *m, Table *t, OtherKey other, void *userdata) {
        const Column *columns;
        size_t n, i;
        const char *key;
        int r;

        r = sd_bus_message_read_basic(m, 's', &key);
        if (r < 0)
                return r;

        columns = table_columns(t, &n);
        for (i = 0; i < n; i++)
                if (streq_ptr(columns[i].key, key))
                        break;
        if (i < n) {
                r = sd_bus_message_enter_container(m, 'v', signature_of(columns[i].type));
                if (r >= 0)
                        r = read_cell(m, t, i);
                return r < 0 ? r : leave(m);
        }

        r = other ? other(key, m, userdata) : 0;
        return r != 0 ? r : sd_bus_message_skip(m, "v");
}

int bus_fill_row(sd_bus_message *m, Table *t, OtherKey other, void *userdata) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_entry(m, t, other, userdata);
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : leave(m);
}

int bus_read_row(sd_bus_message *m, Table *t, OtherKey other, void *userdata) {
        int r;

        r = table_add_row(t);
        return r < 0 ? r : bus_fill_row(m, t, other, userdata);
}

int bus_read_structs(sd_bus_message *m, const char *members, const char *volume, Table *t) {
        _cleanup_free_ char *element = strdup_printf("(%s)", members);
        size_t first = volume ? 1 : 0;
        int r;

        if (!element)
                return -ENOMEM;
        r = sd_bus_message_enter_container(m, 'a', element);
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'r', members)) > 0) {
                r = table_add_row(t);
                if (r >= 0 && volume)
                        r = table_set_string(t, 0, volume);
                for (size_t i = 0; r >= 0 && i < strlen(members); i++)
                        r = read_cell(m, t, first + i);
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : leave(m);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "ctl/colour.h"
#include "ctl/verbs.h"

static const Column holder_columns[] = {
        { "VOLUME", .detail = true },
        { "HOLDER" },
        { "TARGET" },
        { "STATE", NULL, "State" },
        { "READ_ONLY", .type = CELL_BOOLEAN },
        { "ADOPTED", .type = CELL_BOOLEAN },
        { "SINCE", .type = CELL_TIME },
        { "FS_GROUP", .type = CELL_GROUP },
        { "DISK_GROUP", .type = CELL_GROUP },
};

enum { HISTORY_DETAILS = 8 };

static const Column history_columns[] = {
        { "VOLUME", .detail = true },
        { "TIME", .type = CELL_TIME },
        { "OPERATION" },
        { "RESULT" },
        { "REASON" },
        { "HOLDER", .key = "Holder" },
        { "TARGET", .key = "Target" },
        { "TEXT", .key = "Text" },
        [HISTORY_DETAILS] = { "DETAILS", .type = CELL_LIST, .detail = true },
};

typedef struct Show {
        Table *volumes;
        Table *holders;
        Table *history;
        const char *volume;
} Show;

static void show_done(Show *s) {
        table_free(s->volumes);
        table_free(s->holders);
        table_free(s->history);
}

static int read_holders(const char *key, sd_bus_message *m, void *userdata) {
        Show *s = userdata;
        size_t before = table_rows(s->holders);
        int r;

        if (!streq(key, "Holders"))
                return 0;

        r = sd_bus_message_enter_container(m, 'v', "a(" HOLDER_MEMBERS ")");
        if (r >= 0)
                r = bus_read_structs(m, HOLDER_MEMBERS, s->volume, s->holders);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r >= 0)
                r = table_set_number(s->volumes, VOLUME_HOLDERS_COLUMN, table_rows(s->holders) - before);
        return r < 0 ? r : 1;
}

/* A detail without a column as Key=value. Types that aren't known are named, not shown. */
static int read_detail(const char *key, sd_bus_message *m, void *userdata) {
        char ***details = userdata, *s;
        const char *contents, *string;
        uint64_t number;
        int boolean, r;

        r = sd_bus_message_peek_type(m, NULL, &contents);
        if (r < 0)
                return r;

        if (streq(contents, "s")) {
                r = sd_bus_message_read(m, "v", "s", &string);
                s = r < 0 ? NULL : strdup_printf("%s=%s", key, string);
        } else if (streq(contents, "t")) {
                r = sd_bus_message_read(m, "v", "t", &number);
                s = r < 0 ? NULL : strdup_printf("%s=%" PRIu64, key, number);
        } else if (streq(contents, "b")) {
                r = sd_bus_message_read(m, "v", "b", &boolean);
                s = r < 0 ? NULL : strdup_printf("%s=%s", key, boolean ? "yes" : "no");
        } else {
                s = strdup_printf("%s=(%s)", key, contents);
                r = sd_bus_message_skip(m, "v");
        }
        if (r < 0) {
                free(s);
                return r;
        }
        r = strv_consume(details, s);
        return r < 0 ? r : 1;
}

static int read_details(sd_bus_message *m, Table *t) {
        _cleanup_strv_ char **details = NULL;
        int r;

        r = bus_fill_row(m, t, read_detail, &details);
        return r < 0 ? r : table_set_list(t, HISTORY_DETAILS, details);
}

static int read_event(sd_bus_message *m, Show *s) {
        const char *operation, *result, *reason;
        uint64_t time;
        int r;

        r = sd_bus_message_read(m, "tsss", &time, &operation, &result, &reason);
        if (r >= 0)
                r = table_add_row(s->history);
        if (r >= 0)
                r = table_set_string(s->history, 0, s->volume);
        if (r >= 0)
                r = table_set_number(s->history, 1, time);
        if (r >= 0)
                r = table_set_string(s->history, 2, operation);
        if (r >= 0)
                r = table_set_string(s->history, 3, result);
        if (r >= 0)
                r = table_set_string(s->history, 4, reason);
        return r < 0 ? r : read_details(m, s->history);
}

static int get_history(sd_bus *bus, const char *path, Show *s) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        int r;

        r = bus_new_call(bus, path, VOLUME_INTERFACE, "GetHistory", &call);
        if (r >= 0)
                r = bus_call(bus, call, s->volume, ANSWER_SOON, &reply);
        if (r != 0)
                return r;

        r = sd_bus_message_enter_container(reply, 'a', "(tsssa{sv})");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'r', "tsssa{sv}")) > 0) {
                r = read_event(reply, s);
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        return r;
}

static int get_volume(sd_bus *bus, const Args *a, Show *s) {
        _cleanup_message_ sd_bus_message *call = NULL, *found = NULL, *get = NULL, *reply = NULL;
        const char *path;
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "s", s->volume);
        if (r >= 0)
                r = bus_call(bus, call, s->volume, ANSWER_SOON, &found);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;

        r = bus_new_call(bus, path, "org.freedesktop.DBus.Properties", "GetAll", &get);
        if (r >= 0)
                r = sd_bus_message_append(get, "s", VOLUME_INTERFACE);
        if (r >= 0)
                r = bus_call(bus, get, s->volume, ANSWER_SOON, &reply);
        if (r != 0)
                return r;
        r = bus_read_row(reply, s->volumes, read_holders, s);
        if (r < 0)
                return r;
        return a->history ? get_history(bus, path, s) : 0;
}

static int show_text(const Args *a, const Show *s, bool first) {
        bool colours = colours_wanted(STDOUT_FILENO);
        int r = 0;

        if (!first)
                puts("");
        table_print_row(s->volumes, 0, colours);
        if (table_rows(s->holders) > 0) {
                puts("");
                r = table_print(s->holders, a->legend, colours);
        } else if (a->legend)
                puts("\nNobody holds it.");
        if (r >= 0 && table_rows(s->history) > 0) {
                puts("");
                r = table_print(s->history, a->legend, colours);
        }
        return r;
}

static int show_new(Show *s) {
        int r;

        r = table_new("volumes", volume_columns, ELEMENTSOF(volume_columns), &s->volumes);
        if (r >= 0)
                r = table_new("holders", holder_columns, ELEMENTSOF(holder_columns), &s->holders);
        if (r >= 0)
                r = table_new("history", history_columns, ELEMENTSOF(history_columns), &s->history);
        return r;
}

/* A volume that isn't there doesn't keep the others from being shown. */
static int show_each(sd_bus *bus, const Args *a) {
        bool first = true;
        int code = 0;

        for (int i = 0; i < a->n_operands; i++) {
                _cleanup_(show_done) Show s = { .volume = a->operands[i] };
                int r;

                r = show_new(&s);
                if (r >= 0)
                        r = get_volume(bus, a, &s);
                if (r == 0) {
                        r = show_text(a, &s, first);
                        first = false;
                }
                if (r < 0)
                        return r;
                if (r > 0)
                        code = r;
        }
        return code;
}

static int show_json(sd_bus *bus, const Args *a) {
        _cleanup_(show_done) Show s = { 0 };
        int code = 0, r;

        r = show_new(&s);
        if (r < 0)
                return r;
        for (int i = 0; i < a->n_operands; i++) {
                s.volume = a->operands[i];
                r = get_volume(bus, a, &s);
                if (r < 0)
                        return r;
                if (r > 0)
                        code = r;
        }

        r = tables_print_json((Table *[]){ s.volumes, s.holders, s.history }, a->history ? 3 : 2);
        return r < 0 ? r : code;
}

int verb_show(sd_bus *bus, const Args *a) {
        return a->json ? show_json(bus, a) : show_each(bus, a);
}

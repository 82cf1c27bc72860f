/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/context.h"

/* The columns, and those of --output=wide. */
static const char *const columns[] = { "Id", "Target", "Holder", "Level", "State", "UsedUSec", NULL };
static const char *const wide_columns[] = {
        "Id",           "Target",    "Holder", "State",  "UsedUSec", "Context",
        "LabelContext", "DiskGroup", "FSType", "Source", NULL,
};

/* One word for whether a mount is good: what needs attention first. */
static const char *judge_holder(const json_t *volume, const json_t *holder) {
        const char *state = answer_string(holder, "State");

        if (!streq(state, "mounted"))
                return state;
        if (!isempty(answer_string(holder, "CoveredBy")))
                return "hidden";
        if (streq(answer_string(volume, "LabelState"), "partial") &&
            streq(answer_string(volume, "Strategy"), "relabel"))
                return "partial";
        return json_is_true(json_object_get(holder, "ReadOnly")) ? "read-only" : state;
}

/* Makes the row of a holder, or of a volume that nobody holds. */
static json_t *make_row(const json_t *volume, const json_t *holder) {
        const char *own = answer_string(holder, "Context"), *label = answer_string(volume, "LabelContext"),
                   *context = !isempty(own) ? own
                              : holder      ? answer_string(volume, "Context")
                                            : label;
        _cleanup_free_ char *level = isempty(context) ? NULL : context_part(context, CONTEXT_LEVEL);
        const uint64_t used = holder ? answer_number(holder, "SinceUSec") : answer_number(volume, "LastUsedUSec");

        return json_pack("{s:s, s:s?, s:s?, s:s*, s:s*, s:s*, s:s*, s:o*, s:O*, s:O*, s:O*}", "Id",
                         answer_string(volume, "Id"), "Target", holder ? answer_string(holder, "Target") : NULL,
                         "Holder", holder ? answer_string(holder, "Holder") : NULL, "Level", level, "State",
                         holder ? judge_holder(volume, holder) : "free", "Context", isempty(context) ? NULL : context,
                         "LabelContext", isempty(label) ? NULL : label, "UsedUSec",
                         used > 0 ? json_integer((json_int_t) used) : NULL, "DiskGroup",
                         json_object_get(volume, "DiskGroup"), "FSType", json_object_get(volume, "FSType"), "Source",
                         json_object_get(volume, "Source"));
}

/* Whether a shell pattern is for the id, the holder or the target; true if there are no patterns. */
static bool row_is_wanted(const Args *a, const json_t *row) {
        static const char *const keys[] = { "Id", "Holder", "Target" };

        for (int i = 0; i < a->n_operands; i++)
                for (size_t k = 0; k < ELEMENTSOF(keys); k++)
                        if (fnmatch(a->operands[i], answer_string(row, keys[k]), 0) == 0)
                                return true;
        return a->n_operands == 0;
}

/* The key of --sort=, whose words are in the order of the columns. */
static const char *sort_key;

static int compare_rows(const void *a, const void *b) {
        const json_t *x = *(json_t *const *) a, *y = *(json_t *const *) b;
        const uint64_t m = answer_number(x, sort_key), n = answer_number(y, sort_key);
        int r;

        if (m != n)
                return m > n ? -1 : 1; /* the latest first */
        r = strcmp(answer_string(x, sort_key), answer_string(y, sort_key));
        if (r == 0)
                r = strcmp(answer_string(x, "Id"), answer_string(y, "Id"));
        return r != 0 ? r : strcmp(answer_string(x, "Target"), answer_string(y, "Target"));
}

static int sort_rows(const Args *a, json_t *rows) {
        static const char *const words[] = { "id", "target", "holder", "level", "state", "age" };

        sort_key = columns[0];
        for (size_t i = 0; a->sort && i < ELEMENTSOF(words); i++)
                if (streq(words[i], a->sort))
                        sort_key = columns[i];
        return answer_sort(rows, compare_rows);
}

/* Selects the rows to show, and, for --json and --output=name, the volumes that have one. */
static int select_rows(const Args *a, json_t *volumes, json_t *rows, json_t *shown) {
        json_t *volume, *holder;
        size_t i, k;

        json_array_foreach (volumes, i, volume) {
                json_t *holders = json_object_get(volume, "Holders");
                const size_t before = json_array_size(rows);

                json_array_foreach (holders, k, holder) {
                        _cleanup_json_ json_t *row = make_row(volume, holder);

                        if (!row || (row_is_wanted(a, row) && json_array_append(rows, row) < 0))
                                return -ENOMEM;
                }
                if (json_array_size(holders) == 0 && args_have(a, SWITCH_ALL)) {
                        _cleanup_json_ json_t *row = make_row(volume, NULL);

                        if (!row || (row_is_wanted(a, row) && json_array_append(rows, row) < 0))
                                return -ENOMEM;
                }
                if (json_array_size(rows) > before && json_array_append(shown, volume) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Prints unrecorded mounts on standard error, because they are not volumes of the list. */
static int warn_unrecorded(sd_bus_message *reply) {
        const char *volume, *target;
        int r;

        r = sd_bus_message_enter_container(reply, 'v', "a(ss)");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'a', "(ss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(reply, "(ss)", &volume, &target)) > 0) {
                _cleanup_free_ char *at = format_string(target), *word = shell_quote(target),
                                    *id = shell_quote(volume), *text = NULL;

                if (!at || !word || !id)
                        return -ENOMEM;
                text = strdup_printf(
                        "Volume %s is mounted at %s, but not recorded, as the record was lost: unmount it with \"selvolctl unmount %s\", or record it with \"selvolctl adopt %s %s\"",
                        id, at, word, id, word);
                if (!text)
                        return -ENOMEM;
                report_error(NULL, text);
        }
        return r;
}

static int print_rows(const Args *a, json_t *volumes) {
        _cleanup_json_ json_t *rows = json_array(), *shown = json_array();
        const size_t n = json_array_size(volumes);
        const json_t *volume;
        size_t i;
        int r;

        if (!rows || !shown)
                return -ENOMEM;
        r = select_rows(a, volumes, rows, shown);
        if (r < 0)
                return r;
        r = sort_rows(a, rows);
        if (r < 0)
                return r;
        if (args_have(a, SWITCH_JSON))
                return print_json(a, shown);
        if (args_ask_for(a, "name")) {
                json_array_foreach (shown, i, volume) {
                        _cleanup_free_ char *id = format_string(answer_string(volume, "Id"));

                        if (!id)
                                return -ENOMEM;
                        puts(id);
                }
                return 0;
        }
        r = print_table(a, rows, args_ask_for(a, "wide") ? wide_columns : columns);
        if (r < 0 || args_have(a, SWITCH_NO_LEGEND))
                return r;
        printf("%s%zu of %zu volumes listed", json_array_size(rows) > 0 ? "\n" : "", json_array_size(shown), n);
        puts(json_array_size(shown) < n && !args_have(a, SWITCH_ALL) && a->n_operands == 0
                     ? "; --all lists those that nobody holds, too."
                     : ".");
        return 0;
}

int verb_list(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *unrecorded = NULL;
        _cleanup_json_ json_t *volumes = NULL;
        int r;

        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        r = bus_call_method(bus, NULL, &unrecorded, MANAGER_PATH, PROPERTIES_INTERFACE, "Get", "ss",
                            MANAGER_INTERFACE, "UnrecordedMounts");
        if (r != 0)
                return r;
        pager_open();
        r = print_rows(a, volumes);
        return r != 0 ? r : warn_unrecorded(unrecorded);
}

static int get_volume(sd_bus *bus, const Args *a, const char *name, json_t **ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = volume_find(bus, a, name, &path);
        return r != 0 ? r : object_get(bus, path, VOLUME_INTERFACE, name, ret);
}

static int print_volumes(const Args *a, const json_t *volumes) {
        const json_t *volume;
        size_t i;

        if (args_have(a, SWITCH_JSON))
                return print_json(a, volumes);
        json_array_foreach (volumes, i, volume) {
                int r;

                if (i > 0)
                        puts("");
                r = print_text(a, volume);
                if (r < 0)
                        return r;
        }
        return 0;
}

int verb_show(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *volumes = json_array();
        int code = 0, r;

        if (!volumes)
                return -ENOMEM;
        bus_collect_errors(a, volumes);
        for (int i = 0; i < a->n_operands; i++) {
                json_t *volume = NULL;

                r = get_volume(bus, a, a->operands[i], &volume);
                if (r < 0)
                        return r;
                if (r > 0) { /* show the other volumes anyway */
                        code = r;
                        continue;
                }
                if (json_array_append_new(volumes, volume) < 0)
                        return -ENOMEM;
        }
        pager_open();
        r = print_volumes(a, volumes);
        return r < 0 ? r : code;
}

/* --- forget --- */

int forget_check(const Args *a) {
        if (args_have(a, SWITCH_UNUSED) == (a->n_operands > 0))
                return report_usage("'forget' takes VOLUME..., or --unused[=AGE]. See 'selvolctl forget --help'.");
        return 0;
}

static int forget_volume(sd_bus *bus, const char *id) {
        return bus_call_method(bus, id, NULL, MANAGER_PATH, MANAGER_INTERFACE, "ForgetVolume", "sa{sv}", id, 0);
}

/* Only the record says that others could write. */
static bool is_unused(const json_t *volume, uint64_t since_usec) {
        return !json_is_true(json_object_get(volume, "MountedElsewhere")) &&
               json_array_size(json_object_get(volume, "Holders")) == 0 && isempty(answer_string(volume, "Job")) &&
               (uint64_t) json_integer_value(json_object_get(volume, "LastUsedUSec")) <= since_usec;
}

static int forget_unused(sd_bus *bus, const Args *a) {
        static const char *const forgotten_columns[] = { "Id", "Source", "LastUsedUSec", NULL };
        const uint64_t now = now_realtime_usec(), since = now > a->unused_usec ? now - a->unused_usec : 0;
        _cleanup_json_ json_t *volumes = NULL, *forgotten = json_array();
        int code = 0, r;
        json_t *volume;
        size_t i;

        if (!forgotten)
                return -ENOMEM;
        bus_collect_errors(a, forgotten);
        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        json_array_foreach (volumes, i, volume) {
                if (!is_unused(volume, since))
                        continue;
                r = forget_volume(bus, answer_string(volume, "Id"));
                if (r < 0)
                        return r;
                if (r > 0)
                        code = r;
                else if (json_array_append(forgotten, volume) < 0)
                        return -ENOMEM;
        }
        r = args_have(a, SWITCH_QUIET) ? 0 : print_list(a, forgotten, forgotten_columns, "forgotten volume");
        return r != 0 ? r : code;
}

int verb_forget(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *errors = json_array();
        int code = 0, r;

        if (args_have(a, SWITCH_UNUSED))
                return forget_unused(bus, a);
        if (!errors)
                return -ENOMEM;
        bus_collect_errors(a, errors);
        for (int i = 0; i < a->n_operands; i++) {
                r = forget_volume(bus, a->operands[i]);
                if (r < 0)
                        return r;
                code = r > 0 ? r : code;
        }
        r = args_have(a, SWITCH_JSON) ? print_json(a, errors) : 0;
        return r < 0 ? r : code;
}

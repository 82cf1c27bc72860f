/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/format.h"
#include "ctl/history.h"
#include "ctl/objects.h"
#include "ctl/pager.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

enum { LINES_DEFAULT = 64 };

/* The id is NULL for all. */
static int get_history(sd_bus *bus, const char *volume, char **ret_id, json_t **ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_free_ char *path = NULL;
        int r;

        if (volume) {
                r = volume_find(bus, volume, &path);
                if (r != 0)
                        return r;
                r = sd_bus_path_decode(path, VOLUME_PREFIX, ret_id);
                if (r < 0)
                        return r;
        }
        r = bus_call_method(bus, volume, &reply, path ? path : MANAGER_PATH,
                            path ? VOLUME_INTERFACE : MANAGER_INTERFACE, "GetHistory", NULL);
        return r != 0 ? r : answer_read(reply, ret);
}

/* Leaves the last n. */
static int cut(json_t *history, size_t n) {
        while (json_array_size(history) > n)
                if (json_array_remove(history, 0) < 0)
                        return -ENOMEM;
        return 0;
}

/* For people: who reads lines finds none. */
static void print_empty(const Args *a, const char *id) {
        _cleanup_free_ char *volume = id ? format_string(id) : NULL;

        if (args_have(a, SWITCH_QUIET) || !isatty(STDOUT_FILENO))
                return;
        printf("The history%s%s is empty.\n", volume ? " of " : "", strempty(volume));
}

int verb_history(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *history = NULL;
        _cleanup_free_ char *id = NULL;
        int r;

        r = get_history(bus, a->n_operands > 0 ? a->operands[0] : NULL, &id, &history);
        if (r != 0)
                return r;
        if (json_array_size(history) == 0 && !args_have(a, SWITCH_JSON)) {
                print_empty(a, id);
                return 0;
        }
        r = cut(history, args_have(a, SWITCH_LINES) ? a->lines : LINES_DEFAULT);
        if (r < 0)
                return r;
        pager_open(a);
        if (args_have(a, SWITCH_JSON))
                return print_json(a, history);
        return history_print(history, id, "");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/format.h"
#include "ctl/bus-objects.h"
#include "ctl/pager.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

static const char *const volume_columns[] = {
        "Id", "Strategy", "InUse", "OnDisk", "FSType", "Source", "Holders", NULL
};

/* Adds the context in use now and that of the files, which may both differ from the context of the last
 * use. */
static int add_contexts(json_t *volume) {
        const char *state = answer_string(volume, "LabelState"), *label = answer_string(volume, "LabelContext");
        _cleanup_free_ char *partial = strdup_printf("partial: %s", label);

        if (!partial)
                return -ENOMEM;
        if (streq(state, "complete"))
                state = isempty(label) ? state : label;
        else if (streq(state, "partial"))
                state = partial;
        if (json_array_size(json_object_get(volume, "Holders")) > 0 &&
            json_object_set_new(volume, "InUse", json_string(answer_string(volume, "Context"))) < 0)
                return -ENOMEM;
        return json_object_set_new(volume, "OnDisk", json_string(state)) < 0 ? -ENOMEM : 0;
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

int verb_list(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *unrecorded = NULL;
        _cleanup_json_ json_t *volumes = NULL;
        json_t *volume;
        size_t i;
        int r;

        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        r = bus_call_method(bus, NULL, &unrecorded, MANAGER_PATH, PROPERTIES_INTERFACE, "Get", "ss",
                            MANAGER_INTERFACE, "UnrecordedMounts");
        if (r != 0)
                return r;
        if (!args_have(a, SWITCH_JSON))
                json_array_foreach (volumes, i, volume) {
                        r = add_contexts(volume);
                        if (r < 0)
                                return r;
                }
        pager_open(a);
        r = print_list(a, volumes, volume_columns, "volume");
        return r != 0 ? r : warn_unrecorded(unrecorded);
}

static int get_volume(sd_bus *bus, const char *name, json_t **ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = volume_find(bus, name, &path);
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
        for (int i = 0; i < a->n_operands; i++) {
                json_t *volume = NULL;

                r = get_volume(bus, a->operands[i], &volume);
                if (r < 0)
                        return r;
                if (r > 0) { /* show the other volumes anyway */
                        code = r;
                        continue;
                }
                if (json_array_append_new(volumes, volume) < 0)
                        return -ENOMEM;
        }
        pager_open(a);
        r = print_volumes(a, volumes);
        return r < 0 ? r : code;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/objects.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

static const char *const volume_columns[] = { "Id", "Strategy", "Context", "FSType", "Source", "Holders", NULL };

/* On standard error, as they are no volumes of the list. */
static int warn_unrecorded(sd_bus *bus) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *volume, *target;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, PROPERTIES_INTERFACE, "Get", "ss", MANAGER_INTERFACE,
                            "UnrecordedMounts");
        if (r != 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'v', "a(ss)");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'a', "(ss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(reply, "(ss)", &volume, &target)) > 0) {
                _cleanup_free_ char *text = strdup_printf(
                        "mounted at %s, but not recorded, as the record was lost: unmount it with \"selvolctl unmount %s\", or record it with \"selvolctl adopt\"",
                        target, target);

                report_error(volume, strempty(text));
        }
        return r;
}

int verb_list(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *volumes = NULL;
        int r;

        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        r = print_list(a, volumes, volume_columns, "volume");
        return r != 0 ? r : warn_unrecorded(bus);
}

/* By its id, or by a target, which begins with '/' as no id does. */
static int get_volume(sd_bus *bus, const Args *a, const char *name, json_t **ret) {
        _cleanup_message_ sd_bus_message *found = NULL, *history = NULL;
        _cleanup_json_ json_t *volume = NULL;
        const char *path;
        int r;

        r = bus_call_method(bus, name, &found, MANAGER_PATH, MANAGER_INTERFACE,
                            name[0] == '/' ? "GetVolumeByTarget" : "GetVolume", "s", name);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;
        r = object_get(bus, path, VOLUME_INTERFACE, name, &volume);
        if (r != 0)
                return r;
        if (args_have(a, SWITCH_HISTORY)) {
                r = bus_call_method(bus, name, &history, path, VOLUME_INTERFACE, "GetHistory", NULL);
                if (r != 0)
                        return r;
                r = answer_add(volume, "History", history);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(volume);
        return 0;
}

static int print_volumes(const Args *a, const json_t *volumes) {
        const json_t *volume;
        size_t i;

        if (args_have(a, SWITCH_JSON))
                return print_json(volumes);
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

                r = get_volume(bus, a, a->operands[i], &volume);
                if (r < 0)
                        return r;
                if (r > 0) { /* the others are shown all the same */
                        code = r;
                        continue;
                }
                if (json_array_append_new(volumes, volume) < 0)
                        return -ENOMEM;
        }
        r = print_volumes(a, volumes);
        return r < 0 ? r : code;
}

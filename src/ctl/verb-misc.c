/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/bus-objects.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

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
        static const char *const columns[] = { "Id", "Source", "LastUsedUSec", NULL };
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
        r = args_have(a, SWITCH_QUIET) ? 0 : print_list(a, forgotten, columns, "forgotten volume");
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

int verb_metrics(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, MANAGER_INTERFACE, "GetMetrics", NULL);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        pager_open();
        fputs(text, stdout);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/history.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

#define SERVICE "selvold.service"

enum { FAILED_MAX = 5 };

/* Adds the state of the unit, if systemd replies. */
static int add_unit(sd_bus *bus, json_t *status, bool running) {
        _cleanup_free_ char *state = unit_get_string(bus, SERVICE, "Unit", "ActiveState"),
                            *text = unit_get_string(bus, SERVICE, "Service", "StatusText");
        uint64_t since = unit_get_number(bus, SERVICE, "Unit", "ActiveEnterTimestamp");
        _cleanup_json_ json_t *unit = json_pack("{s:s*, s:s*, s:o*}", "ActiveState", state, "StatusText",
                                                running && !isempty(text) ? text : NULL, "SinceUSec",
                                                running && since > 0 ? json_integer((json_int_t) since) : NULL);

        if (!unit || json_object_set_new(status, "Running", json_boolean(running)) < 0)
                return -ENOMEM;
        return json_object_update(status, unit) < 0 ? -ENOMEM : 0;
}

static size_t count_objects(const json_t *objects, const char *key, const char *value) {
        const json_t *object;
        size_t i, n = 0;

        json_array_foreach (objects, i, object)
                n += streq(answer_string(object, key), value);
        return n;
}

static int add_volumes(sd_bus *bus, json_t *status) {
        _cleanup_json_ json_t *volumes = NULL, *holders = NULL, *counts = NULL;
        int r;

        r = volumes_get(bus, &volumes, &holders);
        if (r != 0)
                return r;
        counts = json_pack("{s:I, s:I, s:I}", "Volumes", (json_int_t) json_array_size(volumes), "Holders",
                           (json_int_t) json_array_size(holders), "LabelsPartial",
                           (json_int_t) count_objects(volumes, "LabelState", "partial"));
        return !counts || json_object_update(status, counts) < 0 ? -ENOMEM : 0;
}

static int add_jobs(sd_bus *bus, json_t *status) {
        _cleanup_json_ json_t *jobs = NULL, *counts = NULL;
        size_t waiting, ended;
        int r;

        r = objects_get(bus, JOB_INTERFACE, &jobs);
        if (r != 0)
                return r;
        waiting = count_objects(jobs, "State", "waiting");
        ended = count_objects(jobs, "State", "ended");
        counts = json_pack("{s:I, s:I}", "JobsRunning", (json_int_t) (json_array_size(jobs) - waiting - ended),
                           "JobsWaiting", (json_int_t) waiting);
        return !counts || json_object_update(status, counts) < 0 ? -ENOMEM : 0;
}

/* Adds the last failures of the last hour. */
static int add_failed(sd_bus *bus, json_t *status) {
        json_t *failed;
        int r;

        r = history_read_failed(FAILED_MAX, &failed);
        if (r < 0)
                return r;
        return json_object_set_new(status, "Failed", failed) < 0 ? -ENOMEM : 0;
}

static int add_service(sd_bus *bus, json_t *status) {
        static int (*const parts[])(sd_bus * bus, json_t * status) = { add_volumes, add_jobs, add_failed };
        _cleanup_json_ json_t *manager = NULL;
        int r;

        r = object_get(bus, MANAGER_PATH, MANAGER_INTERFACE, NULL, &manager);
        if (r != 0)
                return r;
        /* doctor compares these. */
        (void) json_object_del(manager, "Configuration");
        (void) json_object_del(manager, "WorkerConfiguration");
        if (json_object_update(status, manager) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                r = parts[i](bus, status);
                if (r != 0)
                        return r;
        }
        return 0;
}

static void print_hint(bool wanted, const char *command, const char *what) {
        if (wanted)
                printf("  %-20s %s\n", command, what);
}

static void print_hints(const json_t *status) {
        puts("\nTo see more:");
        print_hint(answer_number(status, "JobsWaiting") + answer_number(status, "JobsRunning") > 0, "selvolctl jobs",
                   "what runs, and who waits for whom");
        print_hint(answer_number(status, "LabelsPartial") > 0, "selvolctl list --all",
                   "which volumes have partial labels");
        print_hint(json_array_size(json_object_get(status, "UnrecordedMounts")) > 0, "selvolctl list",
                   "which mounts are not recorded");
        print_hint(json_array_size(json_object_get(status, "Failed")) > 0, "selvolctl history",
                   "what was done before");
        print_hint(true, "selvolctl doctor", "whether this node is fit for selvol");
}

static int print_status(const Args *a, const json_t *status) {
        const json_t *failed = json_object_get(status, "Failed");
        int r;

        r = print_text(a, status);
        if (r < 0)
                return r;
        if (json_array_size(failed) > 0)
                puts("\nFailed in the last hour:");
        else if (json_is_null(failed))
                puts("\nWhat failed in the last hour is not known: 'selvolctl history' says why.");
        r = history_print(failed, "  ");
        if (r < 0)
                return r;
        if (!args_have(a, SWITCH_NO_LEGEND))
                print_hints(status);
        return 0;
}

int verb_status(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *status = json_object();
        _cleanup_free_ char *owner = NULL;
        int r, running;

        if (!status)
                return -ENOMEM;
        running = bus_find_service(bus, &owner);
        if (running < 0)
                return running;
        r = add_unit(bus, status, running);
        if (r < 0)
                return r;
        if (running) {
                r = add_service(bus, status);
                if (r != 0)
                        return r;
        }
        r = args_have(a, SWITCH_JSON) ? print_json(a, status) : print_status(a, status);
        return r < 0 || running ? r : EXIT_NOT_RUNNING;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/follow.h"
#include "ctl/namespaces.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

/* Adds the rest of the reply, an a{sv}, to answer, and prints it. Takes answer over. */
static int print_result(const Args *a, json_t *answer, sd_bus_message *reply) {
        _cleanup_json_ json_t *result = answer;
        int r;

        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_answer(a, result);
}

/* Prints the reply of MountVolume and AdoptVolume, even if there is no flag: a container that gets a flag
 * nevertheless would not start. */
static int print_mounted(const Args *a, const char *target, sd_bus_message *reply) {
        const char *context, *flag, *none = args_have(a, SWITCH_JSON) ? NULL : "none";
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        return print_result(a,
                            json_pack("{s:s, s:s, s:s*, s:s?}", "Volume", a->operands[0], "Target", target, "Context",
                                      isempty(context) ? NULL : context, "RuntimeFlag", isempty(flag) ? none : flag),
                            reply);
}

/* Returns a copy that owns nothing. */
static Args with_defaults(const Args *a, const char *source) {
        Args copy = *a;

        values_prefer_context_mount(copy.values, source);
        return copy;
}

int verb_mount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const Args with = with_defaults(a, a->operands[1]);
        int r;

        r = follow_request(bus, &with, "mount", &reply, "MountVolume", "sss", a->operands[0], a->operands[1],
                           a->operands[2]);
        return r != 0 ? r : print_mounted(a, a->operands[2], reply);
}

int adopt_check(const Args *a) {
        if (args_have(a, SWITCH_ALL))
                return adopt_all_check(a);
        if (a->n_operands != 2 || args_have(a, SWITCH_YES))
                return report_usage(
                        "'adopt' takes VOLUME TARGET, or --all ROOT [--yes]. See 'selvolctl adopt --help'.");
        return 0;
}

int verb_adopt(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        /* The mount has a source, whichever it is. */
        const Args with = with_defaults(a, "/");
        int r;

        if (args_have(a, SWITCH_ALL))
                return adopt_all(bus, a);
        r = follow_request(bus, &with, "adopt", &reply, "AdoptVolume", "ss", a->operands[0], a->operands[1]);
        return r != 0 ? r : print_mounted(a, a->operands[1], reply);
}

int unmount_check(const Args *a) {
        if (a->n_operands == 1 && a->operands[0][0] != '/')
                return report_usage(
                        "'%s' is not a target, which begins with '/'. To unmount a volume: selvolctl unmount VOLUME TARGET",
                        a->operands[0]);
        return 0;
}

/* Adds who has the device of the answer mounted, if this process can see that. */
static int add_users(json_t *answer) {
        _cleanup_(namespaces_done) Namespaces all = { 0 };
        _cleanup_free_ char *users = NULL;
        dev_t device;
        int r;

        if (geteuid() != 0 || device_parse(answer_string(answer, "Device"), &device) < 0)
                return 0;
        r = namespaces_read(&all);
        if (r >= 0)
                r = namespaces_describe(&all, &device, 1, &users);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return users && json_object_set_new(answer, "MountedBy", json_string(users)) < 0 ? -ENOMEM : 0;
}

static void report_still_open(const char *target, const char *users) {
        report_note(
                target,
                !isempty(users)
                        ? "The device is still in use: a process has it mounted in its own mount namespace. If the volume is to be used otherwise, or elsewhere, end that process, or stop its container."
                : geteuid() == 0
                        ? "The device is still in use, but not by a mount in another mount namespace: by another mount here (findmnt), or by a program that has it open alone (fuser -v DEVICE)."
                        : "The device is still in use, most likely in another mount namespace: 'selvolctl doctor', run by root, names the process.");
}

int verb_unmount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *volume = a->n_operands > 1 ? a->operands[0] : NULL, *target = a->operands[a->n_operands - 1];
        _cleanup_json_ json_t *answer = json_pack("{s:s*, s:s}", "Volume", volume, "Target", target);
        int r;

        if (!answer)
                return -ENOMEM;
        r = follow_request(bus, a, "unmount", &reply, "UnmountVolume", "ss", strempty(volume), target);
        if (r != 0)
                return r;
        r = answer_add(answer, NULL, reply);
        if (r < 0)
                return r;
        if (!json_is_true(json_object_get(answer, "StillOpen")))
                return print_answer(a, answer);
        r = add_users(answer);
        if (r < 0)
                return r;
        r = print_answer(a, answer);
        if (r < 0)
                return r;
        report_still_open(target, answer_string(answer, "MountedBy"));
        return 0;
}

int verb_plan(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *plan = json_pack("{s:s}", "Volume", a->operands[0]);
        const Args with = with_defaults(a, a->operands[1]);
        const char *error;
        int r;

        if (!plan)
                return -ENOMEM;
        r = follow_request(bus, &with, NULL, &reply, "PlanVolume", "sss", a->operands[0], a->operands[1],
                           a->operands[2]);
        if (r != 0)
                return r;
        r = answer_add(plan, NULL, reply);
        if (r < 0)
                return r;
        r = print_answer(a, plan);
        if (r < 0)
                return r;
        error = answer_string(plan, "ErrorName");
        return isempty(error) ? 0 : exit_code_of(error);
}

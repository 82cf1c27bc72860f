/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/follow.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

/* Adds what the message has last, an a{sv}, to an answer, which is taken over, and prints it. */
static int print_result(const Args *a, json_t *answer, sd_bus_message *reply) {
        _cleanup_json_ json_t *result = answer;
        int r;

        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_answer(a, result);
}

/* The answer of MountVolume and AdoptVolume. */
static int print_mounted(const Args *a, const char *target, sd_bus_message *reply) {
        const char *context, *flag;
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        return print_result(a,
                            json_pack("{s:s, s:s, s:s*, s:s*}", "Volume", a->operands[0], "Target", target, "Context",
                                      isempty(context) ? NULL : context, "RuntimeFlag", isempty(flag) ? NULL : flag),
                            reply);
}

int verb_mount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = follow_request(bus, a, "mount", &reply, "MountVolume", "sss", a->operands[0], a->operands[1],
                           a->operands[2]);
        return r != 0 ? r : print_mounted(a, a->operands[2], reply);
}

int verb_adopt(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = follow_request(bus, a, "adopt", &reply, "AdoptVolume", "ss", a->operands[0], a->operands[1]);
        return r != 0 ? r : print_mounted(a, a->operands[1], reply);
}

int verb_unmount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *volume = a->n_operands > 1 ? a->operands[0] : NULL, *target = a->operands[a->n_operands - 1];
        int r;

        if (!volume && target[0] != '/') {
                report_error(target, "expected a target, which begins with '/', or VOLUME TARGET");
                return EXIT_USAGE;
        }
        r = follow_request(bus, a, NULL, &reply, "UnmountVolume", "ss", strempty(volume), target);
        if (r != 0)
                return r;
        return print_result(a, json_pack("{s:s*, s:s}", "Volume", volume, "Target", target), reply);
}

int verb_plan(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *plan = json_pack("{s:s}", "Volume", a->operands[0]);
        const char *error;
        int r;

        if (!plan)
                return -ENOMEM;
        r = follow_request(bus, a, NULL, &reply, "PlanVolume", "sss", a->operands[0], a->operands[1], a->operands[2]);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "client/client-call.h"
#include "client/values.h"
#include "ctl/bus.h"
#include "ctl/follow.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

/* The verbs relabel and ownership, which change all files of a volume in a job. */

static int print_job(const Args *a, const char *path) {
        unsigned long long job = job_number(path);
        _cleanup_json_ json_t *result = json_pack("{s:s, s:I}", "Volume", a->operands[0], "Job", (json_int_t) job);

        if (!result)
                return -ENOMEM;
        if (args_have(a, SWITCH_JSON))
                return print_json(a, result);
        if (!args_have(a, SWITCH_QUIET))
                printf("%llu\n", job);
        return 0;
}

static int print_ended(const Args *a, json_t *result) {
        const char *word = answer_string(result, "Result"), *message = answer_string(result, "ErrorMessage");
        int r;

        if (streq(word, "done"))
                return print_answer(a, result);
        if (json_object_set_new(result, "ErrorName", json_string(word)) < 0)
                return -ENOMEM;
        if (args_have(a, SWITCH_JSON)) {
                r = print_json(a, result);
                if (r < 0)
                        return r;
        } else {
                _cleanup_free_ char *text = explain_text("--", isempty(message) ? word : message);

                if (!text)
                        return -ENOMEM;
                report_error(a->operands[0], text);
        }
        return exit_code_of(word);
}

static int wait_for_job(sd_bus *bus, const Args *a, const char *path) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *result = NULL;
        const char *word;
        int r;

        r = follow_job(bus, a, path, &reply);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "s", &word);
        if (r < 0)
                return r;
        result = json_pack("{s:s, s:I, s:s}", "Volume", a->operands[0], "Job", (json_int_t) job_number(path),
                           "Result", word);
        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_ended(a, result);
}

/* begun is the reply of Relabel or ApplyOwnership. */
static int finish_change(sd_bus *bus, const Args *a, sd_bus_message *begun) {
        const char *path;
        int r;

        r = sd_bus_message_read(begun, "o", &path);
        if (r < 0)
                return r;
        return args_have(a, SWITCH_NO_WAIT) ? print_job(a, path) : wait_for_job(bus, a, path);
}

int verb_relabel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *begun = NULL;
        const char *context = a->n_operands > 1 ? a->operands[1] : "";
        int r;

        r = follow_request(bus, a, "relabel", &begun, "Relabel", "ss", a->operands[0], context);
        return r != 0 ? r : finish_change(bus, a, begun);
}

int ownership_check(const Args *a) {
        gid_t gid;

        if (parse_gid(a->operands[1], &gid) < 0)
                return report_usage("'%s' is not " GID_EXPECTED ".", a->operands[1]);
        return 0;
}

int verb_ownership(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *begun = NULL;
        gid_t gid;
        int r;

        r = parse_gid(a->operands[1], &gid);
        if (r < 0)
                return r;
        r = follow_request(bus, a, "ownership", &begun, "ApplyOwnership", "su", a->operands[0], (uint32_t) gid);
        return r != 0 ? r : finish_change(bus, a, begun);
}

int verb_verify(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const bool is_path = operand_is_target(a, a->operands[0]);
        _cleanup_free_ char *subject = is_path ? path_make_clean(a->operands[0]) : strdup(a->operands[0]);
        const char *expected = a->n_operands > 1 ? a->operands[1] : "", *actual;
        _cleanup_json_ json_t *result = NULL;
        int matches, r;

        char *operands[] = { subject, (char *) expected, NULL };
        Args named = *a; /* owns nothing */

        if (!subject)
                return -ENOMEM;
        named.operands = operands;
        r = follow_request(bus, &named, "verify", &reply, "VerifyLabel", "ss", subject, expected);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "bs", &matches, &actual);
        if (r < 0)
                return r;
        result = json_pack("{s:s, s:b, s:s*}", is_path ? "Path" : "Volume", subject, "Matches", matches, "Actual",
                           isempty(actual) ? NULL : actual);
        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        if (r < 0)
                return r;
        r = print_answer(a, result);
        if (r < 0)
                return r;
        /* Matches is about the label only. */
        return matches && answer_number(result, "EntriesMisowned") == 0 ? 0 : EXIT_MISMATCH;
}

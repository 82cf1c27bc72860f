/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/follow.h"
#include "ctl/print.h"
#include "ctl/verbs.h"

/* Makes a path clean. selvold tells a clean path from an id, but not one that is not clean. */
static char *find_subject(sd_bus *bus, const char *operand) {
        _cleanup_free_ char *path = path_make_clean(operand);

        if (!path_is_meant(operand) ||
            (path && !streq(path, operand) &&
             bus_try_method(bus, NULL, NULL, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", "s", operand) >= 0))
                return strdup(operand);
        return TAKE_PTR(path);
}

int verb_verify(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_free_ char *subject = find_subject(bus, a->operands[0]);
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
        result = json_pack("{s:s, s:b, s:s*}", path_is_meant(subject) ? "Path" : "Volume", subject, "Matches",
                           matches, "Actual", isempty(actual) ? NULL : actual);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/follow.h"
#include "ctl/print.h"
#include "ctl/verbs.h"

int verb_verify(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *subject = a->operands[0], *expected = a->n_operands > 1 ? a->operands[1] : "", *actual;
        _cleanup_json_ json_t *result = NULL;
        int matches, r;

        r = follow_request(bus, a, "verify", &reply, "VerifyLabel", "ss", subject, expected);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "bs", &matches, &actual);
        if (r < 0)
                return r;
        result = json_pack("{s:s, s:b, s:s*}", subject[0] == '/' ? "Path" : "Volume", subject, "Matches", matches,
                           "Actual", isempty(actual) ? NULL : actual);
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

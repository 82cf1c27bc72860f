/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/verbs.h"

enum { VERIFY_SUBJECT, VERIFY_MATCHES, VERIFY_ACTUAL };

static const Column verify_columns[] = {
        [VERIFY_SUBJECT] = { "VOLUME", "Volume" },
        [VERIFY_MATCHES] = { "MATCHES", "Matches", "Matches", CELL_BOOLEAN },
        [VERIFY_ACTUAL] = { "ACTUAL", "Actual" },
        { "EXPECTED", "Expected", "Expected" },
        { "TARGET", "Target", "Target" },
        { "DEPTH", "Depth", "Depth" },
        { "SELINUX_MODE", "SELinux mode", "SELinuxMode" },
};

int verb_verify(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        const char *expected = a->n_operands > 1 ? a->operands[1] : "", *actual;
        _cleanup_table_ Table *t = NULL;
        int matches, r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "VerifyLabel", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", a->operands[0], expected);
        if (r >= 0)
                r = bus_append_options(call, a);
        if (r >= 0)
                r = bus_call(bus, call, a->operands[0], ANSWER_WHEN_DONE, &reply);
        if (r != 0)
                return r;

        r = sd_bus_message_read(reply, "bs", &matches, &actual);
        if (r >= 0)
                r = table_new("verify", verify_columns, ELEMENTSOF(verify_columns), &t);
        if (r >= 0)
                r = bus_read_row(reply, t, NULL, NULL);
        if (r >= 0)
                r = table_set_string(t, VERIFY_SUBJECT, a->operands[0]);
        if (r >= 0)
                r = table_set_boolean(t, VERIFY_MATCHES, matches);
        if (r >= 0)
                r = table_set_string(t, VERIFY_ACTUAL, actual);
        if (r >= 0 && a->json)
                r = tables_print_json(&t, 1);
        else if (r >= 0 && !a->quiet)
                table_print_row(t, 0, colours_wanted(STDOUT_FILENO));
        return r < 0 ? r : matches ? 0 : EXIT_MISMATCH;
}

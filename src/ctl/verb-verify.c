/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/follow.h"
#include "ctl/verbs.h"

enum { VERIFY_SUBJECT, VERIFY_MATCHES, VERIFY_ACTUAL, VERIFY_MISOWNED = 9 };

static const Column verify_columns[] = {
        [VERIFY_SUBJECT] = { "VOLUME", "Volume" },
        [VERIFY_MATCHES] = { "MATCHES", "Matches", "Matches", CELL_BOOLEAN },
        [VERIFY_ACTUAL] = { "ACTUAL", "Actual" },
        { "EXPECTED", "Expected", "Expected" },
        { "FS_GROUP", "Expected group", "FSGroup", CELL_GROUP },
        { "TARGET", "Target", "Target" },
        { "DEPTH", "Depth", "Depth" },
        { "ENTRIES_DONE", "Entries", "EntriesDone", CELL_NUMBER },
        { "ENTRIES_MISMATCHED", "Entries that differ", "EntriesMismatched", CELL_NUMBER },
        [VERIFY_MISOWNED] = { "ENTRIES_MISOWNED", "Entries misowned", "EntriesMisowned", CELL_NUMBER },
        { "ENTRIES_FAILED", "Errors", "EntriesFailed", CELL_NUMBER },
        { "TEXT", "Result", "Text" },
        { "JOB", "Job", "Job", CELL_JOB },
        { "SELINUX_MODE", "SELinux mode", "SELinuxMode" },
};

typedef struct Verify {
        const char *subject;
        Table *result;
        Table *mismatches;
} Verify;

static void verify_done(Verify *v) {
        table_free(v->result);
        table_free(v->mismatches);
}

static int read_mismatches(const char *key, sd_bus_message *m, void *userdata) {
        Verify *v = userdata;

        return streq(key, "Mismatches") ? issues_read(m, v->subject, v->mismatches) : 0;
}

/* Reads a{sv}. */
static int read_result(Verify *v, bool matches, const char *actual, sd_bus_message *reply) {
        int r;

        r = table_new("verify", verify_columns, ELEMENTSOF(verify_columns), &v->result);
        if (r >= 0)
                r = issues_new("mismatches", &v->mismatches);
        if (r >= 0)
                r = bus_read_row(reply, v->result, read_mismatches, v);
        if (r >= 0)
                r = table_set_string(v->result, VERIFY_SUBJECT, v->subject);
        if (r >= 0)
                r = table_set_boolean(v->result, VERIFY_MATCHES, matches);
        return r < 0 ? r : table_set_string(v->result, VERIFY_ACTUAL, actual);
}

static int print_text(const Args *a, const Verify *v) {
        bool colours = colours_wanted(STDOUT_FILENO);

        table_print_row(v->result, 0, colours);
        if (table_rows(v->mismatches) == 0)
                return 0;
        puts("");
        return table_print(v->mismatches, a->legend, colours);
}

int verb_verify(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(verify_done) Verify v = { .subject = a->operands[0] };
        const char *expected = a->n_operands > 1 ? a->operands[1] : "", *actual;
        int matches, r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "VerifyLabel", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", a->operands[0], expected);
        if (r >= 0)
                r = bus_append_options(call, a);
        if (r >= 0)
                r = follow_call(bus, a, call, "verify", &reply);
        if (r != 0)
                return r;

        r = sd_bus_message_read(reply, "bs", &matches, &actual);
        if (r >= 0)
                r = read_result(&v, matches, actual, reply);
        if (r >= 0 && a->json)
                r = tables_print_json((Table *[]){ v.result, v.mismatches }, 2);
        else if (r >= 0 && !a->quiet)
                r = print_text(a, &v);
        if (r < 0)
                return r;
        /* The one is about the label only. */
        return matches && table_get_number(v.result, VERIFY_MISOWNED) == 0 ? 0 : EXIT_MISMATCH;
}

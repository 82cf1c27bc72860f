/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/follow.h"
#include "ctl/verbs.h"

enum { RELABEL_VOLUME, RELABEL_JOB, RELABEL_RESULT };

static const Column relabel_columns[] = {
        [RELABEL_VOLUME] = { "VOLUME" },
        [RELABEL_JOB] = { "JOB", .type = CELL_JOB },
        [RELABEL_RESULT] = { "RESULT" },
        { "RELABEL", NULL, "Relabel" },
        { "RELABEL_REASON", NULL, "RelabelReason" },
        { "RELABEL_TEXT", NULL, "RelabelText" },
        { "ENTRIES_DONE", NULL, "EntriesDone", CELL_NUMBER },
        { "ENTRIES_CHANGED", NULL, "EntriesChanged", CELL_NUMBER },
        { "ENTRIES_FAILED", NULL, "EntriesFailed", CELL_NUMBER },
        { "ENTRIES_SKIPPED", NULL, "EntriesSkipped", CELL_NUMBER },
        { "DIRECTORIES_UNSETTLED", NULL, "DirectoriesUnsettled", CELL_NUMBER },
        { "MOUNTS_INSIDE", NULL, "MountsInside", CELL_LIST },
        { "DURATION_USEC", NULL, "DurationUSec", CELL_DURATION },
        { "ERROR", NULL, "Error", .escaped = true },
};

typedef struct Relabel {
        const char *volume;
        const char *word; /* what Wait calls the result; belongs to its answer */
        Table *result;
        Table *failures;
} Relabel;

static void relabel_done(Relabel *l) {
        table_free(l->result);
        table_free(l->failures);
}

static int read_failures(const char *key, sd_bus_message *m, void *userdata) {
        Relabel *l = userdata;

        return streq(key, "Failures") ? issues_read(m, l->volume, l->failures) : 0;
}

/* Reads sa{sv}, the answer of Wait. */
static int read_result(Relabel *l, const char *path, sd_bus_message *reply) {
        int r;

        r = sd_bus_message_read(reply, "s", &l->word);
        if (r >= 0)
                r = table_new("relabel", relabel_columns, ELEMENTSOF(relabel_columns), &l->result);
        if (r >= 0)
                r = issues_new("failures", &l->failures);
        if (r >= 0)
                r = bus_read_row(reply, l->result, read_failures, l);
        if (r >= 0)
                r = table_set_string(l->result, RELABEL_VOLUME, l->volume);
        if (r >= 0)
                r = table_set_number(l->result, RELABEL_JOB, job_id_of(path));
        return r < 0 ? r : table_set_string(l->result, RELABEL_RESULT, l->word);
}

static void print_count(const Relabel *l, const char *text, const char *key) {
        const char *n = table_get(l->result, key);

        if (!isempty(n) && !streq(n, "0"))
                printf("%s: %s\n", text, n);
}

static int print_done(const Relabel *l) {
        _cleanup_free_ char *volume = string_escape(l->volume, 300);
        const char *mounts = table_get(l->result, "MountsInside");

        if (!volume)
                return -ENOMEM;
        if (streq(table_get(l->result, "Relabel"), "skipped"))
                printf("Volume %s needs no relabel. %s\n", volume, table_get(l->result, "RelabelText"));
        else
                printf("Volume %s is relabelled: %s entries, %s changed, in %s. %s\n", volume,
                       table_get(l->result, "EntriesDone"), table_get(l->result, "EntriesChanged"),
                       table_get(l->result, "DurationUSec"), table_get(l->result, "RelabelText"));
        print_count(l, "Left alone, as hard links that may lead out of the volume", "EntriesSkipped");
        print_count(l, "Directories that changed to the last, so that not all may have been seen",
                    "DirectoriesUnsettled");
        if (!isempty(mounts))
                printf("Not entered, as other file systems are mounted there: %s\n", mounts);
        return 0;
}

static int show_result(const Args *a, const char *path, sd_bus_message *reply) {
        _cleanup_(relabel_done) Relabel l = { .volume = a->operands[0] };
        const char *error;
        bool done;
        int r;

        r = read_result(&l, path, reply);
        if (r < 0)
                return r;
        done = streq(l.word, "done");
        error = table_get(l.result, "Error");
        if (a->json)
                r = tables_print_json((Table *[]){ l.result, l.failures }, 2);
        else if (!done)
                report_error(l.volume, isempty(error) ? l.word : error);
        else if (!a->quiet)
                r = print_done(&l);
        return r < 0 ? r : done ? 0 : exit_code_of(l.word);
}

static int show_job(const Args *a, const char *path) {
        _cleanup_table_ Table *t = NULL;
        int r;

        if (!a->json) {
                if (!a->quiet)
                        printf("%llu\n", (unsigned long long) job_id_of(path));
                return 0;
        }
        r = table_new("relabel", relabel_columns, RELABEL_RESULT, &t);
        if (r >= 0)
                r = table_add_row(t);
        if (r >= 0)
                r = table_set_string(t, RELABEL_VOLUME, a->operands[0]);
        if (r >= 0)
                r = table_set_number(t, RELABEL_JOB, job_id_of(path));
        return r < 0 ? r : tables_print_json(&t, 1);
}

int verb_relabel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *begun = NULL, *reply = NULL;
        const char *path;
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "Relabel", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", a->operands[0], a->n_operands > 1 ? a->operands[1] : "");
        if (r >= 0)
                r = bus_append_options(call, a);
        if (r >= 0)
                r = bus_call(bus, call, a->operands[0], ANSWER_WHEN_DONE, &begun);
        if (r != 0)
                return r;
        r = sd_bus_message_read(begun, "o", &path);
        if (r < 0)
                return r;
        if (!a->wait)
                return show_job(a, path);

        r = follow_job(bus, a, path, &reply);
        return r != 0 ? r : show_result(a, path, reply);
}

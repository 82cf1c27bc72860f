/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/follow.h"
#include "ctl/parse.h"
#include "ctl/verbs.h"

/* What changes all files of a volume, in a job. */
typedef struct ChangeVerb {
        const char *name; /* of the list in JSON, too */
        const char *method;
        const char *what, *text; /* where the answer says what was done, and why */
} ChangeVerb;

static const ChangeVerb relabel = { "relabel", "Relabel", "Relabel", "RelabelText" },
                        chgrp = { "chgrp", "ApplyOwnership", "Ownership", "OwnershipText" };

enum { CHANGE_VOLUME, CHANGE_JOB, CHANGE_RESULT };

static const Column change_columns[] = {
        [CHANGE_VOLUME] = { "VOLUME" },
        [CHANGE_JOB] = { "JOB", .type = CELL_JOB },
        [CHANGE_RESULT] = { "RESULT" },
        { "RELABEL", NULL, "Relabel" },
        { "RELABEL_REASON", NULL, "RelabelReason" },
        { "RELABEL_TEXT", NULL, "RelabelText" },
        { "OWNERSHIP", NULL, "Ownership" },
        { "OWNERSHIP_REASON", NULL, "OwnershipReason" },
        { "OWNERSHIP_TEXT", NULL, "OwnershipText" },
        { "FS_GROUP", NULL, "FSGroup", CELL_GROUP },
        { "ENTRIES_DONE", NULL, "EntriesDone", CELL_NUMBER },
        { "ENTRIES_CHANGED", NULL, "EntriesChanged", CELL_NUMBER },
        { "ENTRIES_FAILED", NULL, "EntriesFailed", CELL_NUMBER },
        { "ENTRIES_SKIPPED", NULL, "EntriesSkipped", CELL_NUMBER },
        { "DIRECTORIES_UNSETTLED", NULL, "DirectoriesUnsettled", CELL_NUMBER },
        { "MOUNTS_INSIDE", NULL, "MountsInside", CELL_LIST },
        { "DURATION_USEC", NULL, "DurationUSec", CELL_DURATION },
        { "ERROR", NULL, "Error", .escaped = true },
};

typedef struct Change {
        const ChangeVerb *verb;
        const char *volume;
        const char *word; /* what Wait calls the result; belongs to its answer */
        Table *result;
        Table *failures;
} Change;

static void change_done(Change *c) {
        table_free(c->result);
        table_free(c->failures);
}

static int read_failures(const char *key, sd_bus_message *m, void *userdata) {
        Change *c = userdata;

        return streq(key, "Failures") ? issues_read(m, c->volume, c->failures) : 0;
}

/* Reads sa{sv}, the answer of Wait. */
static int read_result(Change *c, const char *path, sd_bus_message *reply) {
        int r;

        r = sd_bus_message_read(reply, "s", &c->word);
        if (r >= 0)
                r = table_new(c->verb->name, change_columns, ELEMENTSOF(change_columns), &c->result);
        if (r >= 0)
                r = issues_new("failures", &c->failures);
        if (r >= 0)
                r = bus_read_row(reply, c->result, read_failures, c);
        if (r >= 0)
                r = table_set_string(c->result, CHANGE_VOLUME, c->volume);
        if (r >= 0)
                r = table_set_number(c->result, CHANGE_JOB, job_id_of(path));
        return r < 0 ? r : table_set_string(c->result, CHANGE_RESULT, c->word);
}

static void print_count(const Change *c, const char *text, const char *key) {
        const char *n = table_get(c->result, key);

        if (!isempty(n) && !streq(n, "0"))
                printf("%s: %s\n", text, n);
}

static void print_sentence(const Change *c, const char *volume) {
        const char *what = table_get(c->result, c->verb->what);
        bool walked = streq(what, "walked");

        /* It is not said of files that have another group on disk. */
        if (c->verb == &relabel)
                printf("Volume %s %s", volume, walked ? "is relabelled" : "needs no relabel");
        else if (walked || streq(what, "skipped"))
                printf("Volume %s belongs to group %s%s", volume, table_get(c->result, "FSGroup"),
                       walked ? "" : " already");
        else
                printf("Volume %s is not given to the group", volume);
        if (walked)
                printf(": %s entries, %s changed, in %s", table_get(c->result, "EntriesDone"),
                       table_get(c->result, "EntriesChanged"), table_get(c->result, "DurationUSec"));
        printf(". %s\n", table_get(c->result, c->verb->text));
}

static int print_done(const Change *c) {
        _cleanup_free_ char *volume = string_escape(c->volume, 300);
        const char *mounts = table_get(c->result, "MountsInside");

        if (!volume)
                return -ENOMEM;
        print_sentence(c, volume);
        print_count(c, "Left alone, as hard links that may lead out of the volume", "EntriesSkipped");
        print_count(c, "Directories that changed to the last, so that not all may have been seen",
                    "DirectoriesUnsettled");
        if (!isempty(mounts))
                printf("Not entered, as other file systems are mounted there: %s\n", mounts);
        return 0;
}

static int show_result(const Args *a, const ChangeVerb *verb, const char *path, sd_bus_message *reply) {
        _cleanup_(change_done) Change c = { .verb = verb, .volume = a->operands[0] };
        const char *error;
        bool done;
        int r;

        r = read_result(&c, path, reply);
        if (r < 0)
                return r;
        done = streq(c.word, "done");
        error = table_get(c.result, "Error");
        if (a->json)
                r = tables_print_json((Table *[]){ c.result, c.failures }, 2);
        else if (!done)
                report_error(c.volume, isempty(error) ? c.word : error);
        else if (!a->quiet)
                r = print_done(&c);
        return r < 0 ? r : done ? 0 : exit_code_of(c.word);
}

static int show_job(const Args *a, const ChangeVerb *verb, const char *path) {
        _cleanup_table_ Table *t = NULL;
        int r;

        if (!a->json) {
                if (!a->quiet)
                        printf("%llu\n", (unsigned long long) job_id_of(path));
                return 0;
        }
        r = table_new(verb->name, change_columns, CHANGE_RESULT, &t);
        if (r >= 0)
                r = table_add_row(t);
        if (r >= 0)
                r = table_set_string(t, CHANGE_VOLUME, a->operands[0]);
        if (r >= 0)
                r = table_set_number(t, CHANGE_JOB, job_id_of(path));
        return r < 0 ? r : tables_print_json(&t, 1);
}

/* call lacks the options only. */
static int change(sd_bus *bus, const Args *a, const ChangeVerb *verb, sd_bus_message *call) {
        _cleanup_message_ sd_bus_message *begun = NULL, *reply = NULL;
        const char *path;
        int r;

        r = bus_append_options(call, a);
        if (r >= 0)
                r = bus_call(bus, call, a->operands[0], ANSWER_WHEN_DONE, &begun);
        if (r != 0)
                return r;
        r = sd_bus_message_read(begun, "o", &path);
        if (r < 0)
                return r;
        if (!a->wait)
                return show_job(a, verb, path);

        r = follow_job(bus, a, path, &reply);
        return r != 0 ? r : show_result(a, verb, path, reply);
}

int verb_relabel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL;
        const char *context = a->n_operands > 1 ? a->operands[1] : "";
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, relabel.method, &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", a->operands[0], context);
        return r < 0 ? r : change(bus, a, &relabel, call);
}

int verb_chgrp(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL;
        gid_t gid;
        int r;

        if (parse_gid(a->operands[1], &gid) < 0) {
                report_error(a->operands[1], "expected " GID_EXPECTED);
                return EXIT_USAGE;
        }
        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, chgrp.method, &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "su", a->operands[0], (uint32_t) gid);
        return r < 0 ? r : change(bus, a, &chgrp, call);
}

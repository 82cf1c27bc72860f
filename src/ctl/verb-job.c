/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "ctl/progress.h"
#include "ctl/verbs.h"

enum { JOB_ID, JOB_DONE = 4, JOB_TOTAL, JOB_PERCENT, JOB_ETA = 8, JOB_EXPECTED_END = 14 };

static const Column job_columns[] = {
        [JOB_ID] = { "ID", NULL, "Id", CELL_NUMBER },
        { "OPERATION", NULL, "Operation" },
        { "VOLUME", NULL, "Volume" },
        { "STATE", NULL, "State" },
        [JOB_DONE] = { "DONE", NULL, "EntriesDone", CELL_NUMBER },
        [JOB_TOTAL] = { "TOTAL", NULL, "EntriesTotal", CELL_NUMBER },
        [JOB_PERCENT] = { "PERCENT", .type = CELL_NUMBER },
        { "RATE", NULL, "EntriesPerSecond", CELL_NUMBER },
        [JOB_ETA] = { "ETA", .type = CELL_DURATION },
        { "RESULT", NULL, "Result" },
        { "CONTEXT", NULL, "Context", .detail = true },
        { "CHANGED", NULL, "EntriesChanged", CELL_NUMBER, .detail = true },
        { "FAILED", NULL, "EntriesFailed", CELL_NUMBER, .detail = true },
        { "STARTED_USEC", NULL, "StartedUSec", CELL_TIME, .detail = true },
        [JOB_EXPECTED_END] = { "EXPECTED_END_USEC", NULL, "ExpectedEndUSec", CELL_TIME, .detail = true },
        { "ERROR", NULL, "Error", .detail = true, .escaped = true },
};

/* What follows from the properties. */
static int complete_row(Table *t) {
        uint64_t total = table_get_number(t, JOB_TOTAL);
        int r = 0;

        if (total > 0)
                r = table_set_number(t, JOB_PERCENT, progress_percent(table_get_number(t, JOB_DONE), total));
        if (r >= 0)
                r = table_set_number(t, JOB_ETA, progress_remaining(table_get_number(t, JOB_EXPECTED_END)));
        return r;
}

int verb_jobs(sd_bus *bus, const Args *a) {
        _cleanup_table_ Table *t = NULL;
        int r;

        r = table_new("jobs", job_columns, ELEMENTSOF(job_columns), &t);
        if (r >= 0)
                r = bus_read_objects(bus, JOB_INTERFACE, t, NULL, complete_row, NULL);
        if (r != 0)
                return r;
        table_sort(t, JOB_ID);
        return print_list(a, t, "job");
}

enum { CANCEL_ID, CANCEL_CANCELLED, CANCEL_RESULT };

static const Column cancel_columns[] = {
        [CANCEL_ID] = { "ID", .type = CELL_NUMBER },
        [CANCEL_CANCELLED] = { "CANCELLED", .type = CELL_BOOLEAN },
        [CANCEL_RESULT] = { "RESULT" },
        { "ENTRIES_DONE", NULL, "EntriesDone", CELL_NUMBER },
        { "ENTRIES_CHANGED", NULL, "EntriesChanged", CELL_NUMBER },
};

static void print_cancelled(const Table *t, uint64_t id, bool cancelled, const char *result) {
        const char *done = table_get(t, "EntriesDone");

        if (!cancelled)
                printf("Job %" PRIu64 " was not cancelled: it has ended, with the result %s.\n", id, result);
        else if (isempty(done) || streq(done, "0"))
                printf("Job %" PRIu64 " is cancelled.\n", id);
        else
                printf("Job %" PRIu64 " is cancelled: %s entries were looked at, %s changed.\n", id, done,
                       table_get(t, "EntriesChanged"));
}

/* Reads sa{sv}, the answer of Wait. */
static int show_cancelled(const Args *a, uint64_t id, sd_bus_message *reply) {
        _cleanup_table_ Table *t = NULL;
        const char *result;
        bool cancelled;
        int r;

        r = sd_bus_message_read(reply, "s", &result);
        if (r < 0)
                return r;
        cancelled = streq(result, "Canceled");
        r = table_new("cancel", cancel_columns, ELEMENTSOF(cancel_columns), &t);
        if (r >= 0)
                r = bus_read_row(reply, t, NULL, NULL);
        if (r >= 0)
                r = table_set_number(t, CANCEL_ID, id);
        if (r >= 0)
                r = table_set_boolean(t, CANCEL_CANCELLED, cancelled);
        if (r >= 0)
                r = table_set_string(t, CANCEL_RESULT, result);
        if (r >= 0 && a->json)
                r = tables_print_json(&t, 1);
        else if (r >= 0 && !a->quiet)
                print_cancelled(t, id, cancelled, result);
        return r;
}

static int on_ended(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(sd_bus_message **) userdata = sd_bus_message_ref(m);
        return 0;
}

/* Waits for the end before asking for it: the object may be gone at once. */
static int cancel(sd_bus *bus, const char *path, const char *subject, sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *wait = NULL, *call = NULL, *ended = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        const sd_bus_error *error;
        int r;

        r = bus_new_call(bus, path, JOB_INTERFACE, "Wait", &wait);
        if (r >= 0)
                r = sd_bus_call_async(bus, &slot, wait, on_ended, &ended, UINT64_MAX);
        if (r >= 0)
                r = bus_new_call(bus, path, JOB_INTERFACE, "Cancel", &call);
        if (r >= 0)
                r = bus_call(bus, call, subject, ANSWER_WHEN_DONE, NULL);
        while (r == 0 && !ended) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
                r = r < 0 ? r : 0;
        }
        if (r != 0)
                return r;

        error = sd_bus_message_get_error(ended);
        if (error)
                return report_bus_error(subject, error);
        *ret = TAKE_PTR(ended);
        return 0;
}

int verb_cancel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *found = NULL, *reply = NULL;
        _cleanup_free_ char *subject = NULL;
        unsigned long long id;
        const char *path;
        int r;

        if (parse_u64(a->operands[0], &id) < 0) {
                report_error(a->operands[0], "a job has a number, see 'selvolctl jobs'");
                return EXIT_USAGE;
        }
        subject = strdup_printf("job %llu", id);
        if (!subject)
                return -ENOMEM;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "GetJob", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "t", (uint64_t) id);
        if (r >= 0)
                r = bus_call(bus, call, subject, ANSWER_SOON, &found);
        if (r == 0) {
                r = sd_bus_message_read(found, "o", &path);
                if (r >= 0)
                        r = cancel(bus, path, subject, &reply);
        }
        return r != 0 ? r : show_cancelled(a, id, reply);
}

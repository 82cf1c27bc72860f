/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/string-util.h"
#include "ctl/objects.h"
#include "ctl/print.h"
#include "ctl/progress.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

static const char *const job_columns[] = {
        "Id",      "Operation",        "Volume",        "State",  "EntriesDone", "EntriesTotal",
        "Percent", "EntriesPerSecond", "RemainingUSec", "Result", NULL,
};

/* What follows from the properties. */
static int add_estimates(json_t *job) {
        Progress p = { 0 };
        uint64_t remaining;

        progress_update(&p, job);
        remaining = progress_remaining(p.expected_end_usec);
        if (p.total > 0 && json_object_set_new(job, "Percent", json_integer(progress_percent(p.done, p.total))) < 0)
                return -ENOMEM;
        if (remaining > 0 && json_object_set_new(job, "RemainingUSec", json_integer((json_int_t) remaining)) < 0)
                return -ENOMEM;
        return 0;
}

int verb_jobs(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *jobs = NULL;
        json_t *job;
        size_t i;
        int r;

        r = objects_get(bus, JOB_INTERFACE, &jobs);
        if (r != 0)
                return r;
        json_array_foreach (jobs, i, job) {
                r = add_estimates(job);
                if (r < 0)
                        return r;
        }
        return print_list(a, jobs, job_columns, "job");
}

/* Reads the answer of Wait. */
static int print_canceled(const Args *a, uint64_t job, sd_bus_message *reply) {
        _cleanup_json_ json_t *result = NULL;
        const char *word;
        int r;

        r = sd_bus_message_read(reply, "s", &word);
        if (r < 0)
                return r;
        result = json_pack("{s:I, s:b, s:s}", "Job", (json_int_t) job, "Canceled", streq(word, "Canceled"), "Result",
                           word);
        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_answer(a, result);
}

static int on_ended(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(sd_bus_message **) userdata = sd_bus_message_ref(m);
        return 0;
}

/* Waits for the end before asking for it: the object may be gone at once. */
static int cancel(sd_bus *bus, const char *path, const char *subject, sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *wait = NULL, *ended = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        const sd_bus_error *error;
        int r;

        r = sd_bus_message_new_method_call(bus, &wait, BUS_NAME, path, JOB_INTERFACE, "Wait");
        if (r < 0)
                return r;
        r = sd_bus_call_async(bus, &slot, wait, on_ended, &ended, UINT64_MAX);
        if (r < 0)
                return r;
        r = bus_call_method(bus, subject, NULL, path, JOB_INTERFACE, "Cancel", NULL);
        if (r != 0)
                return r;
        while (!ended) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
                if (r < 0)
                        return r;
        }

        error = sd_bus_message_get_error(ended);
        if (error)
                return bus_report_error(subject, error);
        *ret = TAKE_PTR(ended);
        return 0;
}

int verb_cancel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *found = NULL, *reply = NULL;
        _cleanup_free_ char *subject = NULL;
        unsigned long long id;
        const char *path;
        int r;

        if (parse_u64(a->operands[0], &id) < 0) {
                report_error(a->operands[0], "expected the number of a job, see 'selvolctl jobs'");
                return EXIT_USAGE;
        }
        subject = strdup_printf("job %llu", id);
        if (!subject)
                return -ENOMEM;

        r = bus_call_method(bus, subject, &found, MANAGER_PATH, MANAGER_INTERFACE, "GetJob", "t", (uint64_t) id);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;
        r = cancel(bus, path, subject, &reply);
        return r != 0 ? r : print_canceled(a, id, reply);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/follow.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "wire/system-bus.h"

static const char *const job_columns[] = {
        "Id",       "Operation",         "Volume",         "State",     "DurationUSec",
        "?Percent", "?EntriesPerSecond", "?RemainingUSec", "?WaitsFor", "?Result",
        NULL,
};

/* Adds members that are calculated from the properties. */
static int add_estimates(json_t *job) {
        const uint64_t started = answer_number(job, "StartedUSec"), ended = answer_number(job, "EndedUSec"),
                       now = ended > 0 ? ended : now_realtime_usec();
        JobProgress p = { 0 };
        uint64_t remaining;

        progress_update(&p, job);
        remaining = progress_remaining(p.expected_end_usec);
        if (json_object_set_new(job, "Percent",
                                p.total > 0 ? json_integer(progress_percent(p.done, p.total)) : json_null()) < 0 ||
            json_object_set_new(job, "RemainingUSec",
                                remaining > 0 ? json_integer((json_int_t) remaining) : json_null()) < 0 ||
            json_object_set_new(job, "DurationUSec",
                                started > 0 && now >= started ? json_integer((json_int_t) (now - started))
                                                              : json_null()) < 0)
                return -ENOMEM;
        return 0;
}

static int print_job_table(const Args *a, json_t *jobs) {
        json_t *job;
        size_t i;

        json_array_foreach (jobs, i, job) {
                const bool waits = streq(answer_string(job, "State"), "waiting");
                _cleanup_free_ char *text = NULL;
                int r;

                r = add_estimates(job);
                if (r < 0)
                        return r;
                if (args_have(a, SWITCH_JSON))
                        continue;
                text = waits ? job_describe_wait(job) : NULL;
                if (json_object_set_new(job, "WaitsFor", text ? json_string(text) : json_null()) < 0)
                        return -ENOMEM;
        }
        return print_list(a, jobs, job_columns, "job");
}

int verb_jobs(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *jobs = NULL;
        int r;

        if (args_have(a, SWITCH_WATCH))
                return verb_monitor(bus, a);
        r = objects_get(bus, JOB_INTERFACE, &jobs);
        if (r != 0)
                return r;
        pager_open();
        return print_job_table(a, jobs);
}

/* --- cancel --- */

/* Prints the reply of Wait. */
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

/* Calls Wait before Cancel, because the job's object may be gone right after Cancel. */
static int cancel_job(sd_bus *bus, const char *path, const char *subject, sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *wait = NULL, *ended = NULL, *call = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        _cleanup_error_ sd_bus_error refused = SD_BUS_ERROR_NULL;
        const sd_bus_error *error;
        int r;

        r = sd_bus_message_new_method_call(bus, &wait, BUS_NAME, path, JOB_INTERFACE, "Wait");
        if (r < 0)
                return r;
        r = sd_bus_call_async(bus, &slot, wait, on_ended, &ended, UINT64_MAX);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, path, JOB_INTERFACE, "Cancel");
        if (r < 0)
                return r;
        /* selvold replies when the job has ended, however long its disk takes. */
        r = system_bus_call(bus, call, UINT64_MAX, &refused, NULL);
        if (r < 0)
                return sd_bus_error_is_set(&refused) ? bus_report_error(subject, &refused) : r;
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

int cancel_check(const Args *a) {
        unsigned long long id;

        if (parse_u64(a->operands[0], &id) < 0)
                return report_usage("'%s' is not the number of a job. See 'selvolctl jobs'.", a->operands[0]);
        return 0;
}

int verb_cancel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *found = NULL, *reply = NULL;
        _cleanup_free_ char *subject = NULL;
        unsigned long long id;
        const char *path;
        int r;

        r = parse_u64(a->operands[0], &id);
        if (r < 0)
                return r;
        subject = strdup_printf("job %llu", id);
        if (!subject)
                return -ENOMEM;

        r = bus_call_method(bus, subject, &found, MANAGER_PATH, MANAGER_INTERFACE, "GetJob", "t", (uint64_t) id);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;
        r = cancel_job(bus, path, subject, &reply);
        return r != 0 ? r : print_canceled(a, id, reply);
}

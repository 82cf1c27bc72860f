/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/job-table.h"
#include "ctl/print.h"
#include "ctl/progress-line.h"

static const char *const job_columns[] = {
        "Id",      "Operation",        "Volume",        "State",  "StartedUSec", "EntriesDone", "EntriesTotal",
        "Percent", "EntriesPerSecond", "RemainingUSec", "Result", "?Context",    NULL,
};

/* Adds members that are calculated from the properties. */
static int add_estimates(json_t *job) {
        JobProgress p = { 0 };
        uint64_t remaining;

        progress_update(&p, job);
        remaining = progress_remaining(p.expected_end_usec);
        if (json_object_set_new(job, "Percent",
                                p.total > 0 ? json_integer(progress_percent(p.done, p.total)) : json_null()) < 0)
                return -ENOMEM;
        if (json_object_set_new(job, "RemainingUSec",
                                remaining > 0 ? json_integer((json_int_t) remaining) : json_null()) < 0)
                return -ENOMEM;
        return 0;
}

int job_table_print(const Args *a, json_t *jobs) {
        json_t *job;
        size_t i;

        json_array_foreach (jobs, i, job) {
                int r;

                r = add_estimates(job);
                if (r < 0)
                        return r;
        }
        return print_list(a, jobs, job_columns, "job");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "basic/cleanup.h"
#include "ctl/bus.h"

/* Calls that may take long. During a call, standard error shows the progress unless --quiet is set: on one
 * line of a terminal, or otherwise as a message now and then. SIGINT and SIGTERM end only the wait: a note
 * says whether the job continues without this caller, and how to cancel it, and the function returns
 * EXIT_SIGNAL plus the signal's number. Otherwise functions return the same as bus_call_method(). */

/* Waits for a job, by the path of its object. *ret is the reply of Wait. */
int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) _warn_unused_;

/* Calls a method of the manager, with the options of the command line after the arguments. operation: the job
 * of the call has this operation, on the volume or path that is the first operand, and at the target that is
 * the last one, if that is a path; NULL: show no progress. */
int follow_request(sd_bus *bus, const Args *a, const char *operation, sd_bus_message **ret, const char *method,
                   const char *types, ...) _warn_unused_;

/* The progress of a job. */
typedef struct JobProgress {
        uint64_t done;
        uint64_t total;             /* 0: unknown */
        uint64_t per_second;        /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
} JobProgress;

/* Describes whom a waiting job waits for, by its properties: "pod-A at /target". NULL on lack of memory. */
char *job_describe_wait(const json_t *job) _warn_unused_;

/* Copies the progress from a job's properties; missing properties change nothing. */
void progress_update(JobProgress *p, const json_t *properties);

/* 0 to 100; 0 if the total is unknown. */
unsigned int progress_percent(uint64_t done, uint64_t total) _pure_;

/* Returns µs in whole seconds, at least one; 0 if the end is unknown or past. */
uint64_t progress_remaining(uint64_t expected_end_usec);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "basic/cleanup.h"

/* The progress of a job, and the line of a terminal that shows it. */

typedef struct JobProgress {
        uint64_t done;
        uint64_t total;             /* 0: unknown */
        uint64_t per_second;        /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
} JobProgress;

/* Copies the progress from a job's properties; missing properties change nothing. */
void progress_update(JobProgress *p, const json_t *properties);

/* 0 to 100; 0 if the total is unknown. */
unsigned int progress_percent(uint64_t done, uint64_t total) _pure_;

/* Returns µs in whole seconds, at least one; 0 if the end is unknown or past. */
uint64_t progress_remaining(uint64_t expected_end_usec);

enum { PROGRESS_LINE_MAX = 512 };

/* Formats percentage, counts, rate and time left, as many of them as fit into width columns
 * (PROGRESS_LINE_MAX at most). ASCII, so that a byte is a column. "" if nothing is known or fits. */
void progress_format_numbers(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]);

/* The line on the terminal. It is on standard error, because standard output is for the result. */
typedef struct ProgressLine {
        char shown[PROGRESS_LINE_MAX + 1];
} ProgressLine;

/* Shows the line in place of the previous one. */
void progress_draw(ProgressLine *l, const JobProgress *p);
/* Removes the line from the terminal. */
void progress_clear(ProgressLine *l);

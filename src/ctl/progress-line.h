/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "basic/cleanup.h"

/* How far a job has come, and the line of a terminal that shows it. */

typedef struct JobProgress {
        uint64_t done;
        uint64_t total;             /* 0: unknown */
        uint64_t per_second;        /* 0: unknown */
        uint64_t expected_end_usec; /* since the epoch; 0: unknown */
} JobProgress;

/* Takes over what the properties of a job say, and leaves alone what they do not. */
void progress_update(JobProgress *p, const json_t *properties);

/* 0 to 100; 0 if the total is unknown. */
unsigned int progress_percent(uint64_t done, uint64_t total) _pure_;

/* In µs, in whole seconds and never 0; 0 if the end is unknown or past. */
uint64_t progress_remaining(uint64_t expected_end_usec);

enum { PROGRESS_LINE_MAX = 512 };

/* The share, the counts, the rate and the time left, as much of that as fits into so many columns,
 * PROGRESS_LINE_MAX at most; ASCII, so that a byte is a column. "" if nothing is known or fits. */
void progress_format_numbers(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]);

/* The line that the terminal shows, on standard error: standard output is for the result. */
typedef struct ProgressLine {
        char shown[PROGRESS_LINE_MAX + 1];
} ProgressLine;

/* Shows, or replaces what is shown. */
void progress_draw(ProgressLine *l, const JobProgress *p);
/* Leaves the terminal as if nothing had been shown. */
void progress_clear(ProgressLine *l);

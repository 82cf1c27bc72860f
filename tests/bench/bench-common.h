/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* Helpers of the benchmark programs. An error ends the program, because an incomplete figure is worthless. */

_printf_(1, 2) _Noreturn void fail(const char *format, ...);

/* Ends the program rather than return NULL. */
char *format_string(const char *format, ...) _printf_(1, 2);

unsigned parse_number(const char *s, unsigned max);

/* An option sets exactly one of flag, text and number. */
typedef struct BenchOption {
        const char *name;
        bool *flag;
        const char **text;
        unsigned *number;
        unsigned max;
} BenchOption;

#define FLAG(name, variable) \
        { name, .flag = &(variable) }
#define TEXT(name, variable) \
        { name, .text = &(variable) }
#define NUMBER(name, variable, maximum) \
        { name, .number = (unsigned *) &(variable), .max = maximum }

/* Returns the index of the first argument that is no option. A wrong option ends the program. */
#define parse_options(options, argc, argv, usage) parse_n_options(options, ELEMENTSOF(options), argc, argv, usage)
int parse_n_options(const BenchOption *options, size_t n, int argc, char **argv, const char *usage);
_Noreturn void print_usage(const char *usage);

double now_usec(void);
void sleep_msec(unsigned msec);

/* Starts a program without a shell. output: descriptor for its standard output; -1: /dev/null. */
pid_t start_program(char *const *argv, int output);
/* Returns the status as wait(2) does. */
int wait_for_program(pid_t pid, const char *name, struct rusage *ret);
/* Starts a program and waits for it; it has to succeed. */
void run_program(const char *const *argv);

typedef struct Series {
        double min, median, p99, max; /* microseconds */
} Series;

/* Sorts the values. n = 0 gives zeros. */
Series summarize(double *values, size_t n);

/* Returns the lines of a file, which has to have at least wanted. */
char **read_lines(const char *path, size_t wanted);

/* Counts the writable mounts beneath a directory. */
unsigned count_mounts(const char *directory);

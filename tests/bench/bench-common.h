/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* What the programs that measure share. An error ends them: a figure that is not complete is none. */

_printf_(1, 2) _Noreturn void fail(const char *format, ...);

/* Never NULL. */
char *format_string(const char *format, ...) _printf_(1, 2);

unsigned parse_number(const char *s, unsigned max);

/* An option, with one of the three that it sets. */
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

/* Where the arguments begin. A mistake ends the program, with how it is called. */
#define parse_options(options, argc, argv, usage) parse_n_options(options, ELEMENTSOF(options), argc, argv, usage)
int parse_n_options(const BenchOption *options, size_t n, int argc, char **argv, const char *usage);
_Noreturn void print_usage(const char *usage);

double now_usec(void);
void sleep_msec(unsigned msec);

/* Starts a program directly, without a shell in between; output: where it writes, or -1 for nowhere. */
pid_t start_program(char *const *argv, int output);
/* Returns its status. */
int wait_for_program(pid_t pid, const char *name, struct rusage *ret);
/* The same at once, where it has to succeed. */
void run_program(char *const *argv);

typedef struct Series {
        double min, median, p99, max; /* microseconds */
} Series;

/* Sorts the values; of none all are 0. */
Series summarize(double *values, size_t n);

/* The lines of a file, of which there have to be so many. */
char **read_lines(const char *path, size_t wanted);

/* How many mounts there are beneath a directory that can be written. */
unsigned count_mounts(const char *directory);

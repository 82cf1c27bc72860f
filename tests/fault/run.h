/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "check.h"
#include "client.h"

/* One run of a program of this ring: what a seed decides on, and how much of it there is. */

typedef struct RunSpec {
        const char *name;           /* of meson's test */
        const char *directory;      /* in which it is built; NULL: build-asan */
        const char *option, *about; /* how much there is, for example "kills" */
        int few, all;               /* without it, and with --full; all 0: --full is the program's business */
        int n_checks;
        bool has_scenes; /* so that --scene names the only one to interrupt */
} RunSpec;

typedef struct Run {
        Environment environment;
        Client *client; /* the first of all */
        GRand *rand;
        int seed, amount, only; /* only: a scene; negative: all */
        gboolean full;
} Run;

/* The beginning and the end of main(). Exits if there is nothing to run. */
void run_begin(Run *r, const RunSpec *spec, int argc, char **argv);
/* The exit status */
int run_end(Run *r, bool ok);

/* A line of TAP; returns whether it is ok. */
bool run_report(bool ok, int number, const char *what);
void run_print_wrong(const Run *r, const Wrong *w);

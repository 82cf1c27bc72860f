/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "check.h"
#include "client.h"

/* Each program of this ring makes one run with two checks. A seed and an amount decide what happens. */

typedef struct RunSpec {
        const char *name;           /* of meson's test */
        const char *directory;      /* the build directory; NULL: build-asan */
        const char *option, *about; /* the option for the amount, for example "kills" */
        int few, all;               /* amount by default, and with --full (0: --full sets none) */
        bool has_scenes;            /* the program takes --scene, which names the only scene to interrupt */
} RunSpec;

typedef struct Run {
        Environment environment;
        Client *client; /* the first client */
        GRand *rand;
        int seed, amount, only; /* only is the scene of --scene, or negative */
        gboolean full;
} Run;

/* main() begins with this, which exits if the machine can't run the tests. */
void run_begin(Run *r, const RunSpec *spec, int argc, char **argv);
/* main() ends with this. Returns the exit status. */
int run_end(Run *r, bool ok);

/* Prints a line of TAP. Returns ok. */
bool run_report(bool ok, int number, const char *what);
void run_print_wrong(const Run *r, const Wrong *w);

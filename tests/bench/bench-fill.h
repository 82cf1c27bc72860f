/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

/* Background volumes, which stay mounted during a measurement. */

enum { VOLUMES_MAX = 4096 /* limit of the service */, HOLDERS_MAX = 16, STEPS_MAX = 8 };

/* Ascending numbers of background volumes; the benchmark measures at each of these numbers. */
typedef struct Steps {
        unsigned volumes[STEPS_MAX];
        size_t n;
} Steps;

/* Reads a list with commas; list = NULL leaves steps as it is. */
void steps_parse(Steps *steps, const char *list);

typedef struct Fill {
        sd_bus *bus;
        const char *targets; /* the directory of all mount points */
        char **devices;      /* one for each volume; NULL: the volumes are tmpfs */
        unsigned holders;    /* each volume has so many */
        bool plain;          /* the mounts have no context= option */
        bool json;
        unsigned n_volumes; /* so many are mounted now */
} Fill;

static inline unsigned fill_count_mounts(const Fill *f) {
        return f->n_volumes * f->holders;
}

/* Returns the path of the directory TARGETS/NAME, and makes the directory if it is missing. */
char *fill_target(const Fill *f, const char *name);
/* Mounts volumes until n are mounted, each with a level of its own, and prints the time for one mount. */
void fill_up(Fill *f, unsigned n);
/* Unmounts all volumes and prints the time for one mount. */
void fill_empty(Fill *f);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

/* Volumes that are mounted while something is measured. */

enum { VOLUMES_MAX = 4096 /* that the service takes */, HOLDERS_MAX = 16, STEPS_MAX = 8 };

/* Numbers of volumes, each larger than the one before. */
typedef struct Steps {
        unsigned volumes[STEPS_MAX];
        size_t n;
} Steps;

/* Of a list with commas; NULL leaves them as they are. */
void steps_parse(Steps *steps, const char *list);

typedef struct Fill {
        sd_bus *bus;
        const char *targets; /* a directory */
        char **devices;      /* a line for each volume; NULL: tmpfs */
        unsigned holders;    /* of each volume */
        bool plain;          /* without a context */
        bool json;
        unsigned n_volumes; /* mounted now */
} Fill;

static inline unsigned fill_count_mounts(const Fill *f) {
        return f->n_volumes * f->holders;
}

/* The directory TARGETS/NAME, made if need be. */
char *fill_target(const Fill *f, const char *name);
/* Mounts more, until there are n volumes, each with a level of its own; prints how long that took. */
void fill_up(Fill *f, unsigned n);
/* Unmounts all, and prints how long that took. */
void fill_empty(Fill *f);

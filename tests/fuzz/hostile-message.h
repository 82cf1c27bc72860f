/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../root/volumes.h"

/* The hostile client draws the values of its messages from those that might do harm. */

#define HOST    TEST_DIR "/host"       /* a disk of the host */
#define LATE    TEST_DIR "/late"       /* the host mounts a disk here while an answer is withheld */
#define FIXED   TEST_DIR "/fixed"      /* a disk that the host has mounted read-only */
#define BOUND   TEST_TARGETS "/bound"  /* a bind mount of it */
#define OUTSIDE TEST_DIR "/outside"    /* a directory of the host */
#define SECRET  TEST_TARGETS "/secret" /* the tmpfs of another pod's secret */
#define OTHERS  TEST_TARGETS "/others" /* a disk that others have mounted */

typedef struct Chance {
        GRand *random;
        const char *sources[16]; /* of mounts */
        size_t n_sources;
} Chance;

bool percent(const Chance *c, unsigned n);
unsigned below(const Chance *c, unsigned n);
#define PICK(chance, array) ((array)[below(chance, G_N_ELEMENTS(array))])

/* These return a negative errno if sd-bus can't append the values. */
int append_rubbish(const Chance *c, sd_bus_message *m);
int append_call(const Chance *c, const char *verb, sd_bus_message *m);
int append_plan(const Chance *c, sd_bus_message *m);
/* Appends a string that makes the message as long as possible. */
int append_giant(const char *verb, sd_bus_message *m);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../root/volumes.h"

/* What the hostile client says: by chance, out of what might do harm. */

#define HOST    TEST_DIR "/host"       /* a disk of the host's */
#define OUTSIDE TEST_DIR "/outside"    /* a directory of the host's */
#define SECRET  TEST_TARGETS "/secret" /* a tmpfs that is another pod's */
#define OTHERS  TEST_TARGETS "/others" /* a disk that somebody else has mounted */

typedef struct Chance {
        GRand *random;
        const char *sources[12]; /* to mount */
        size_t n_sources;
} Chance;

bool percent(const Chance *c, unsigned n);
unsigned below(const Chance *c, unsigned n);
#define PICK(chance, array) ((array)[below(chance, G_N_ELEMENTS(array))])

/* As their namesakes of wire/messages.h. What can't be appended is a negative errno. */
int append_rubbish(const Chance *c, sd_bus_message *m);
int append_call(const Chance *c, const char *verb, sd_bus_message *m);
int append_plan(const Chance *c, sd_bus_message *m);
/* As long as a message can be, all of it in the first string. */
int append_giant(const char *verb, sd_bus_message *m);

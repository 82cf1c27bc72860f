/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "fuzz.h"

/* An input as words, each of which ends with a NUL: what has more than one value reads one after the other. After the last word
 * all are "". */
typedef struct Words {
        const uint8_t *data;
        size_t size;
        size_t n_beyond; /* how many elements all arrays together may get after the last word */
} Words;

/* The next word, or the last one without a NUL. */
char *words_next(Words *w);
/* Likewise as a number, 0 if it is none; negative ones are those from UINT64_MAX down. */
uint64_t words_next_number(Words *w);
bool words_at_end(const Words *w);

/* A message without a body, of a bus that is not connected. */
sd_bus_message *message_new(void);
/* Nothing more can be appended; it is read from the start. Returns 0, or a negative errno if its type is too long. */
int message_finish(sd_bus_message *m) _warn_unused_;

/* Appends values of these D-Bus types, made of words: a string as it is, unless D-Bus can't carry it; for an array the number of its
 * elements; for a variant its type. Returns 0, or a negative errno if no message can be made of it, as with an invalid type or more
 * containers in each other than there can be. */
int message_fill(sd_bus_message *m, const char *types, Words *w) _warn_unused_;
/* No array gets more elements of words. */
enum { FILL_ELEMENTS_MAX = 1024 };

/* Whether what is left to read of both is the same. */
bool messages_equal(sd_bus_message *a, sd_bus_message *b);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "fuzz.h"

/* Counts what message_fill() has appended. A container is a value, too. */
typedef struct Filled {
        size_t values, bytes, descriptors; /* bytes: of all strings */
} Filled;

/* An input has words, each of which ends with a NUL. All words after the last one are "". */
typedef struct Words {
        const uint8_t *data;
        size_t size;
        size_t n_beyond; /* all arrays together may get so many elements after the last word */
        Filled filled;
} Words;

/* The last word may lack its NUL. */
char *words_next(Words *w);
/* Returns the next word as a number, 0 if it is none. Negative numbers count from UINT64_MAX down. */
uint64_t words_next_number(Words *w);
bool words_at_end(const Words *w);

/* Returns a message without a body, of a bus that is not connected. */
sd_bus_message *message_new(void);
/* Seals the message, and rewinds it. Returns 0, or a negative errno if its type is too long. */
int message_finish(sd_bus_message *m) _warn_unused_;

/* Appends values of these D-Bus types, which are made of words: a string is a word, unless D-Bus can't carry
 * it; an array has the number of its elements before these, and a variant its type. Returns 0, or a negative
 * errno if D-Bus has no such message, as with an invalid type or too many nested containers. */
int message_fill(sd_bus_message *m, const char *types, Words *w) _warn_unused_;
/* An array gets at most so many elements before the last word. */
enum { FILL_ELEMENTS_MAX = 1024 };

/* Compares the rest of both messages. */
bool messages_equal(sd_bus_message *a, sd_bus_message *b);

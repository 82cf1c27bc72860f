/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All combinations of what a decision depends on. */

typedef struct Dimension {
        const char *name;
        const void *values; /* an array of structs whose first member is a word for the value */
        size_t size;        /* of one */
        size_t n;
} Dimension;

#define DIMENSION(name, values) \
        { name, values, sizeof((values)[0]), sizeof(values) / sizeof((values)[0]) }

/* The values of what is so or not. */
typedef struct Flag {
        const char *word;
        bool is;
} Flag;
extern const Flag flags[2];

/* Tries a combination: which value of each dimension. Returns whether there can be such a one. */
typedef bool (*CombinationFunc)(const size_t *choice, void *data);

/* Calls the function for each combination, the last dimension changing first; under AddressSanitizer, and without
 * -m slow, for one of 31 if there are many. Says how many there were; returns whether these were all. */
bool combinations_try(const Dimension *dimensions, size_t n, CombinationFunc function, void *data);

/* Ends the test: says which sentence is not true of which combination. */
void combination_fail(const Dimension *dimensions, size_t n, const size_t *choice, const char *sentence,
                      const char *answer) __attribute__((noreturn));

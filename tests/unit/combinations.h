/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A decision is tried for all combinations of the values that it depends on. */

typedef struct Dimension {
        const char *name;
        const void *values; /* an array of words, or of structs whose first member is a word for the value */
        size_t size;        /* of one struct */
        size_t n;
} Dimension;

#define DIMENSION(name, values) \
        { name, values, sizeof((values)[0]), sizeof(values) / sizeof((values)[0]) }

/* These are the values of a dimension that is true or false. */
typedef struct Flag {
        const char *word;
        bool is;
} Flag;
extern const Flag flags[2];

/* Tries one combination; choice has the index of the value of each dimension. Returns false if the
 * combination can't be. */
typedef bool (*CombinationFunc)(const size_t *choice, void *data);

/* Calls the function for each combination; the last dimension changes first. With AddressSanitizer and
 * without -m slow it takes only each 31st of many combinations. Returns whether it took all. */
bool combinations_try(const Dimension *dimensions, size_t n, CombinationFunc function, void *data);

/* Ends the test, and prints the combination for which the sentence is not true. */
void combination_fail(const Dimension *dimensions, size_t n, const size_t *choice, const char *sentence,
                      const char *answer) __attribute__((noreturn));

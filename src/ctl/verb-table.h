/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/verbs.h"

/* The verbs of selvolctl. The parser, --help and the completion use this table, and tests/unit/test-docs.py
 * compares selvolctl(1) with it. */

/* The headings of --help, in their order. */
typedef enum VerbGroup {
        GROUP_LOOK,
        GROUP_CHANGE,
        GROUP_JOBS,
        GROUP_SERVICE,
        VERB_GROUPS,
} VerbGroup;

typedef struct Verb {
        VerbGroup group;
        const char *name;
        const char *alias;                      /* another name by habit, such as umount; NULL: none */
        const char *operands;                   /* the completion knows VOLUME, TARGET, JOB, VERB and files */
        int min, max;                           /* the number of operands */
        unsigned int methods;                   /* the verb takes the request options of these methods */
        unsigned int switches;                  /* taken in addition to the common ones */
        int (*run)(sd_bus *bus, const Args *a); /* NULL, like run_alone: help, which main() runs */
        const char *description;
        const char *example;
        int (*run_alone)(const Args *a); /* in place of run(); opens the bus itself if necessary */
        int (*check)(const Args *a);     /* of the operands, in addition to their number; NULL: none */
        const char *paths;               /* for args_clean_paths(); NULL: no operand is a path */
} Verb;

extern const Verb verbs[];
extern const size_t n_verbs;

/* Finds a verb by its name or alias; NULL if there is none. */
const Verb *verb_find(const char *name) _pure_;
/* Like verb_find(), but prints an error if there is no such verb. */
const Verb *verb_expect(const char *name);

bool verb_takes(const Verb *v, const Option *o) _pure_;
/* Checks that the verb takes these operands and options, and makes their paths clean. Returns 0, a
 * negative errno, or EXIT_USAGE after an error message. */
int verb_check(const Verb *v, Args *a) _warn_unused_;

/* Prints the help of a verb; NULL: of the program. */
void help_print(const Verb *v);

/* A shell's completion calls "selvolctl __complete WORDS...". The function prints the words that the last
 * word, which may be "", can become, one on a line; an option that needs a value ends in "=". A line of only
 * "/" stands for file names. Asks selvold for volumes, targets and jobs, but does not start it. Returns 0 or
 * a negative errno. */
int complete_print(char **words, int n) _warn_unused_;

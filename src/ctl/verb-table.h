/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/verbs.h"

/* The verbs of selvolctl. The parser, --help and the completion are made from this table, and
 * tests/unit/test-docs.py compares selvolctl(1) with it. */

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
        const char *alias;                      /* what fingers type; NULL: none */
        const char *operands;                   /* VOLUME, TARGET, JOB, VERB and files are completed */
        int min, max;                           /* of operands */
        unsigned int methods;                   /* whose request options it takes */
        unsigned int switches;                  /* that it takes besides the common ones */
        int (*run)(sd_bus *bus, const Args *a); /* NULL here and below: help, which is main()'s */
        const char *description;
        int (*run_alone)(const Args *a); /* instead of run(): opens the bus itself, if at all */
        int (*check)(const Args *a);     /* of what else is wrong with the operands; NULL: nothing */
} Verb;

extern const Verb verbs[];
extern const size_t n_verbs;

/* By its name or alias. Returns NULL, or the verb. */
const Verb *verb_find(const char *name);
/* The same. Returns NULL after saying what is wrong. */
const Verb *verb_expect(const char *name);

bool verb_takes(const Verb *v, const Option *o);
/* Whether the verb takes these operands and options. Returns 0, or EXIT_USAGE after saying what is wrong. */
int verb_check(const Verb *v, const Args *a) _warn_unused_;

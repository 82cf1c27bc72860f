/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "wire/option-table.h"

/* All options of the command line: those for selvold (wire/option-table.h) and those of selvolctl itself. The
 * parser, --help and the completion use this table. */

/* Options of selvolctl itself; values are bits of a set. */
typedef enum Switch {
        SWITCH_JSON = 1 << 0,
        SWITCH_LINES = 1 << 1,
        SWITCH_NO_WAIT = 1 << 2,
        SWITCH_NO_LEGEND = 1 << 3,
        SWITCH_QUIET = 1 << 4,
        SWITCH_ASK_PASSWORD = 1 << 5,
        SWITCH_NO_ASK_PASSWORD = 1 << 6,
        SWITCH_HELP = 1 << 7,
        SWITCH_VERSION = 1 << 8,
        SWITCH_FULL = 1 << 9,
        SWITCH_NO_PAGER = 1 << 10,
        SWITCH_ALL = 1 << 11,
        SWITCH_YES = 1 << 12,
        SWITCH_WATCH = 1 << 13,
        SWITCH_UNUSED = 1 << 14,
        SWITCHES_COMMON = SWITCH_NO_LEGEND | SWITCH_QUIET | SWITCH_ASK_PASSWORD | SWITCH_NO_ASK_PASSWORD |
                          SWITCH_HELP | SWITCH_VERSION | SWITCH_FULL | SWITCH_NO_PAGER, /* for all verbs */
} Switch;

enum { SWITCHES = 15, OPTIONS = REQUEST_OPTIONS + SWITCHES };

typedef struct Option {
        const char *name;     /* without "--" */
        char letter;          /* 0: none */
        const char *argument; /* its name in the help; NULL: none */
        bool may_omit;        /* the argument is optional */
        const char *values;   /* the valid words, separated by spaces; NULL: anything */
        const char *description;
        unsigned int methods;         /* of selvold that take the option */
        unsigned int bit;             /* for an option of selvolctl itself */
        const RequestOption *request; /* NULL: an option of selvolctl itself */
} Option;

/* Returns option i. The first REQUEST_OPTIONS are those for selvold, in its order. */
Option option_get(size_t i);

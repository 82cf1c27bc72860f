/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-bus.h>

#include "basic/cleanup.h"
#include "wire/options.h"

/* The exit codes, documented in selvolctl(1); 0 is success and 1 any failure without one of its own. */
enum {
        EXIT_USAGE = 2,
        EXIT_CONFLICT = 3, /* refused: a holder uses the volume with another context or group */
        EXIT_DENIED = 4,
        EXIT_MISMATCH = 5, /* verify: the label or the group is not the one expected */
        EXIT_SIGNAL = 128, /* plus its number: ended by a signal, which main() raises again */
};

/* Options of selvolctl itself; values are bits of a set. */
typedef enum Switch {
        SWITCH_JSON = 1 << 0,
        SWITCH_HISTORY = 1 << 1,
        SWITCH_NO_WAIT = 1 << 2,
        SWITCH_NO_LEGEND = 1 << 3,
        SWITCH_QUIET = 1 << 4,
        SWITCH_ASK_PASSWORD = 1 << 5,
        SWITCH_NO_ASK_PASSWORD = 1 << 6,
        SWITCH_HELP = 1 << 7,
        SWITCH_VERSION = 1 << 8,
        SWITCHES_ALL = (1 << 9) - 1,
        SWITCHES_COMMON = SWITCHES_ALL & ~(SWITCH_JSON | SWITCH_HISTORY | SWITCH_NO_WAIT), /* of all verbs */
} Switch;

/* The value of a request option, as its type says. */
typedef struct OptionValue {
        bool set;
        const char *string; /* belongs to argv */
        uint64_t number;    /* or boolean, group or time in µs */
        char **list;
} OptionValue;

typedef struct Args {
        const char *verb; /* NULL: none */
        char **operands;
        int n_operands;
        OptionValue values[REQUEST_OPTIONS];
        unsigned int switches;
} Args;

typedef struct Verb {
        const char *name;
        const char *operands; /* for messages */
        int min, max;
        unsigned int methods;  /* whose request options it takes */
        unsigned int switches; /* that it takes besides the common ones */
        int (*run)(sd_bus *bus, const Args *a);
        const char *description;
} Verb;

/* Reads the command line. Returns 0, EXIT_USAGE after saying what is wrong, or -ENOMEM. operands belong to argv. */
int args_parse(int argc, char **argv, Args *ret) _warn_unused_;
void args_done(Args *a);

/* Whether the verb takes these operands and options. Returns 0, or EXIT_USAGE after saying what is wrong. */
int args_check(const Args *a, const Verb *v) _warn_unused_;

static inline bool args_have(const Args *a, Switch s) {
        return a->switches & s;
}

/* Prints the help of a verb, or of the program with its verbs if that is NULL. */
void args_help(const Verb *verbs, size_t n, const Verb *verb);

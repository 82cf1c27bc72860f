/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "basic/string-util.h"
#include "client/values.h"
#include "wire/option-table.h"

/* The command line: all options, those for selvold (wire/option-table.h) and those of selvolctl itself, and
 * the exit codes. The parser, --help and the completion use the table of options. */

/* The exit codes, documented in selvolctl(1); 0 is success, and 1 a failure without its own code. */
enum {
        EXIT_USAGE = 2,       /* wrong usage, found by selvolctl or by selvold */
        EXIT_CONFLICT = 3,    /* a conflict: the same call may succeed later */
        EXIT_NOT_RUNNING = 3, /* status: as systemctl(1) has it */
        EXIT_DENIED = 4,
        EXIT_MISMATCH = 5, /* verify: the label or the group is not the expected one */
        EXIT_TIMEOUT = 6,
        EXIT_REFUSED = 7,  /* the same call fails again until something is changed */
        EXIT_SIGNAL = 128, /* plus the number of the signal; main() raises that again */
};

/* Returns the exit code for a D-Bus error, or for one of selvold's errors by the last part of its name. */
int exit_code_of(const char *error_name) _pure_;

/* Prints "selvolctl: MESSAGE" on standard error, escaped if necessary. Returns EXIT_USAGE. */
int report_usage(const char *format, ...) _printf_(1, 2);

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
        SWITCH_OUTPUT = 1 << 9,
        SWITCH_NO_PAGER = 1 << 10,
        SWITCH_ALL = 1 << 11,
        SWITCH_YES = 1 << 12,
        SWITCH_WATCH = 1 << 13,
        SWITCH_UNUSED = 1 << 14,
        SWITCH_SORT = 1 << 15,
        SWITCH_HOLDER = 1 << 16, /* OPTION_HOLDER, which chooses here */
        SWITCH_SINCE = 1 << 17,
        SWITCH_UNTIL = 1 << 18,
        SWITCH_FOLLOW = 1 << 19,
        SWITCH_FAILED = 1 << 20,
        SWITCH_ROOT = 1 << 21,
        SWITCH_CHANGED = 1 << 22,
        SWITCH_VOLUME = 1 << 23,
        SWITCH_MKDIR = 1 << 24,
        SWITCH_PRINT_FLAGS = 1 << 25,
        SWITCH_VERBOSE = 1 << 26,
        SWITCHES_COMMON = SWITCH_NO_LEGEND | SWITCH_QUIET | SWITCH_ASK_PASSWORD | SWITCH_NO_ASK_PASSWORD |
                          SWITCH_HELP | SWITCH_VERSION | SWITCH_NO_PAGER, /* for all verbs */
} Switch;

enum { SWITCHES = 26, OPTIONS = REQUEST_OPTIONS + SWITCHES };

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

typedef struct Args {
        const char *verb; /* as typed; NULL: none */
        char **operands;
        int n_operands;
        char **paths; /* owned: those among the operands that args_clean_paths() has made anew */
        OptionValue values[REQUEST_OPTIONS];
        unsigned int switches;
        bool json_pretty;
        const char *output, *sort; /* of SWITCH_OUTPUT and SWITCH_SORT; NULL: not given */
        unsigned long long lines;
        uint64_t unused_usec;            /* of SWITCH_UNUSED */
        uint64_t since_usec, until_usec; /* since the epoch, of SWITCH_SINCE and SWITCH_UNTIL */
        const char *o_value;             /* of -o, until the verb says which option that is */
        const char *root;                /* of SWITCH_ROOT; argv owns it */
        const char *volume;              /* of SWITCH_VOLUME, also the first operand; NULL: not given */
} Args;

/* Reads the command line. Returns 0, EXIT_USAGE after an error message, or -ENOMEM. argv owns the
 * operands. */
int args_parse(int argc, char **argv, Args *ret) _warn_unused_;
void args_done(Args *a);
/* Reads -o: mount options where mounts is true, or the form of the output. Returns the same. */
int args_read_o(Args *a, bool mounts) _warn_unused_;

static inline bool args_have(const Args *a, Switch s) {
        return a->switches & s;
}

/* Whether --output= has this word. */
static inline bool args_ask_for(const Args *a, const char *output) {
        return streq_ptr(a->output, output);
}

/* Makes paths among the operands absolute and clean, as selvold expects them. kinds has a letter for each
 * operand. 'v': no path; 'V': no path, and may be missing; 'e': a path if path_is_meant(); 'p': a path, but
 * as the only operand like 'e'. Returns 0 or a negative errno. */
int args_clean_paths(Args *a, const char *kinds) _warn_unused_;

/* Whether an operand begins with "/", "./" or "../", or is "." or "..": so does a path, and perhaps a
 * volume's id. */
bool path_is_meant(const char *operand) _pure_;

/* Whether an operand that may be a volume's id or a target is a target: --volume= names an id. */
static inline bool operand_is_target(const Args *a, const char *operand) {
        return operand != a->volume && path_is_meant(operand);
}

/* Whether option i is on the command line. */
bool args_have_option(const Args *a, size_t i);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "client/values.h"
#include "ctl/exit-code.h"
#include "ctl/option.h"

typedef struct Args {
        const char *verb; /* as typed; NULL: none */
        char **operands;
        int n_operands;
        char **paths; /* owned: those among the operands that args_clean_paths() has made anew */
        OptionValue values[REQUEST_OPTIONS];
        unsigned int switches;
        bool json_pretty;
        unsigned long long lines;
        uint64_t unused_usec; /* of SWITCH_UNUSED */
} Args;

/* Reads the command line. Returns 0, EXIT_USAGE after an error message, or -ENOMEM. argv owns the
 * operands. */
int args_parse(int argc, char **argv, Args *ret) _warn_unused_;
void args_done(Args *a);

static inline bool args_have(const Args *a, Switch s) {
        return a->switches & s;
}

/* Makes paths among the operands absolute and clean, as selvold expects them. kinds has a letter for each
 * operand; if there are fewer operands, the last letters count. 'v': no path; 'e': a path if
 * path_is_meant(); 'p': a path, but as the only operand like 'e'. Returns 0 or a negative errno. */
int args_clean_paths(Args *a, const char *kinds) _warn_unused_;

/* Whether an operand begins with "/", "./" or "../", or is "." or "..": so does a path, and perhaps a
 * volume's id. */
bool path_is_meant(const char *operand) _pure_;

/* Whether option i is on the command line. */
bool args_have_option(const Args *a, size_t i);

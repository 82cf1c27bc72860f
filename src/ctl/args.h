/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "client/values.h"
#include "ctl/exit-code.h"
#include "ctl/option.h"

typedef struct Args {
        const char *verb; /* as it was typed; NULL: none */
        char **operands;
        int n_operands;
        OptionValue values[REQUEST_OPTIONS];
        unsigned int switches;
        bool json_pretty;
        unsigned long long lines;
} Args;

/* Reads the command line. Returns 0, EXIT_USAGE after saying what is wrong, or -ENOMEM. operands belong to
 * argv. */
int args_parse(int argc, char **argv, Args *ret) _warn_unused_;
void args_done(Args *a);

static inline bool args_have(const Args *a, Switch s) {
        return a->switches & s;
}

/* Whether the option was given. */
bool args_have_option(const Args *a, size_t i);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* The exit codes, documented in selvolctl(1); 0 is success and 1 any failure without one of its own. */
enum {
        EXIT_USAGE = 2,    /* the call is wrong, whoever found that */
        EXIT_CONFLICT = 3, /* somebody else is in the way: the same call may succeed later */
        EXIT_DENIED = 4,
        EXIT_MISMATCH = 5, /* verify: the label or the group is not the one expected */
        EXIT_TIMEOUT = 6,
        EXIT_REFUSED = 7,  /* and will be until something is changed */
        EXIT_SIGNAL = 128, /* plus its number: ended by a signal, which main() raises again */
};

/* The exit code for a D-Bus error, or for one of selvold's by the last part of its name. */
int exit_code_of(const char *error_name) _pure_;

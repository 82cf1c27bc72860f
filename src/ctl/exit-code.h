/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* The exit codes, documented in selvolctl(1); 0 is success, and 1 a failure without its own code. */
enum {
        EXIT_USAGE = 2,    /* wrong usage, found by selvolctl or by selvold */
        EXIT_CONFLICT = 3, /* a conflict: the same call may succeed later */
        EXIT_DENIED = 4,
        EXIT_MISMATCH = 5, /* verify: the label or the group is not the expected one */
        EXIT_TIMEOUT = 6,
        EXIT_REFUSED = 7,  /* the same call fails again until something is changed */
        EXIT_SIGNAL = 128, /* plus the number of the signal; main() raises that again */
};

/* Returns the exit code for a D-Bus error, or for one of selvold's errors by the last part of its name. */
int exit_code_of(const char *error_name) _pure_;

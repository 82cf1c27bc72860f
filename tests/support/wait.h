/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Runs the main loop for a time. */
void pause_usec(int64_t usec);

/* Runs the main loop until the condition holds, or so many seconds are over. The value is whether the
 * condition holds. Limits are long for the sake of busy machines, and a wait that succeeds costs no time by
 * its limit. */
#define HOLDS_WITHIN(seconds, condition)                                            \
        ({                                                                          \
                int64_t _end_ = g_get_monotonic_time() + (seconds) *G_USEC_PER_SEC; \
                bool _ok_;                                                          \
                while (!(_ok_ = (condition)) && g_get_monotonic_time() < _end_)     \
                        pause_usec(2000);                                           \
                _ok_;                                                               \
        })

enum { WAIT_SEC = 120 };

/* Runs the main loop until the condition holds, and fails if it never does. */
#define WAIT_FOR(condition)                                                                                       \
        G_STMT_START {                                                                                            \
                if (!HOLDS_WITHIN(WAIT_SEC, condition))                                                           \
                        g_error("%s:%i: after %i seconds not yet: %s", __FILE__, __LINE__, WAIT_SEC, #condition); \
        }                                                                                                         \
        G_STMT_END

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Runs the main loop for a time. */
void pause_usec(int64_t usec);

/* Runs the main loop until the condition holds, or for so long; whether it does is the value. A wait that succeeds at once
 * costs nothing by its limit: that is for a machine that has other things to do. */
#define HOLDS_WITHIN(seconds, condition)                                            \
        ({                                                                          \
                int64_t _end_ = g_get_monotonic_time() + (seconds) *G_USEC_PER_SEC; \
                bool _ok_;                                                          \
                while (!(_ok_ = (condition)) && g_get_monotonic_time() < _end_)     \
                        pause_usec(2000);                                           \
                _ok_;                                                               \
        })

enum { WAIT_SEC = 120 };

/* The same, where it has to hold in the end. */
#define WAIT_FOR(condition)                                                                                       \
        G_STMT_START {                                                                                            \
                if (!HOLDS_WITHIN(WAIT_SEC, condition))                                                           \
                        g_error("%s:%i: after %i seconds not yet: %s", __FILE__, __LINE__, WAIT_SEC, #condition); \
        }                                                                                                         \
        G_STMT_END

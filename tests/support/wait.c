/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wait.h"

void pause_usec(int64_t usec) {
        int64_t end = g_get_monotonic_time() + usec;

        do {
                while (g_main_context_iteration(NULL, FALSE))
                        ;
                g_usleep(200);
        } while (g_get_monotonic_time() < end);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* tools/coverage includes this into each file. A process that ends by SIGTERM writes none of gcc's counters:
 * selvol-metrics and selvol-volume-plugin end so when systemd stops them, and children of selvol-worker when
 * selvold hangs up. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void __gcov_dump(void);
/* From errno.h with _GNU_SOURCE, without which meson compiles its probes. */
extern char *program_invocation_short_name;

static inline void coverage_dump_and_end(int sig) {
        __gcov_dump();
        signal(sig, SIG_DFL);
        raise(sig);
}

/* exit(3) writes the counters, too: not twice at a time. */
static inline void coverage_ignore_sigterm(void) {
        signal(SIGTERM, SIG_IGN);
}

static inline __attribute__((constructor)) void coverage_handle_sigterm(void) {
        static const char *const programs[] = { "selvol-metrics", "selvol-volume-plugin", "selvol-worker" };

        for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
                if (strcmp(program_invocation_short_name, programs[i]) == 0) {
                        signal(SIGTERM, coverage_dump_and_end);
                        atexit(coverage_ignore_sigterm);
                }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* tools/coverage includes this into each file. A process that SIGTERM ends writes none of gcc's counters, so
 * these handlers write them: systemd stops selvol-metrics and selvol-volume-plugin by SIGTERM, and
 * selvol-worker ends its children by SIGTERM when selvold hangs up. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void __gcov_dump(void);
/* errno.h declares this only with _GNU_SOURCE, without which meson compiles its probes. */
extern char *program_invocation_short_name;

static inline void coverage_dump_and_end(int sig) {
        __gcov_dump();
        signal(sig, SIG_DFL);
        raise(sig);
}

/* exit(3) writes the counters, too, and a signal must not do so at the same time. */
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

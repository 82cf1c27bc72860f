/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support.h"

enum { EXIT_SKIPPED = 77 };

int run_tests(int argc, char **argv) {
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return EXIT_SKIPPED;
        add_all_tests();
        r = g_test_run();
        if (worker)
                worker_stop(worker);
        return r;
}

/* A program may have a main() of its own. */
__attribute__((weak)) int main(int argc, char **argv) {
        return run_tests(argc, argv);
}

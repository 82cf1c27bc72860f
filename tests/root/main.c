/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support.h"

/* For all but those that have one of their own. */
int main(int argc, char **argv) {
        return run_tests(argc, argv);
}

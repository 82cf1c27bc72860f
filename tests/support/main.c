/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cases.h"

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        add_all_tests();
        return g_test_run();
}

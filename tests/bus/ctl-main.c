/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>

#include "support/cases.h"

int main(int argc, char **argv) {
        setlocale(LC_ALL, "C.UTF-8");
        g_test_init(&argc, &argv, NULL);
        g_test_set_nonfatal_assertions();
        add_all_tests();
        return g_test_run();
}

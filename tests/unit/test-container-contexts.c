/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "support.h"

static void test_text(gconstpointer data) {
        const Row *row = data;
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        g_assert_cmpint(container_contexts_parse(row_need(row, "text"), &c), ==, 0);
        g_assert_cmpstr(c.process, ==, row_get(row, "=process"));
        g_assert_cmpstr(c.file, ==, row_get(row, "=file"));
        g_assert_cmpstr(c.ro_file, ==, row_get(row, "=ro_file"));
}

/* A malformed file of the policy must not hang or crash the reader. */
static void test_long_line(void) {
        g_autofree char *value = g_strnfill(1 << 20, 'x'), *text = g_strconcat("file = \"", value, "\"\n", NULL);
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        g_assert_cmpint(container_contexts_parse(text, &c), ==, 0);
        g_assert_cmpstr(c.file, ==, value);
}

void add_tests(void) {
        table_add_tests(table_load("contexts-files.table", "id text =process =file =ro_file"), "/container-contexts",
                        test_text);
        g_test_add_func("/container-contexts/long-line", test_long_line);
}

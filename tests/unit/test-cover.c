/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which mounts of a table are hidden. */

#include <glib.h>

#include "mount/cover.h"

#define V(i) "/k/pods/" #i "/v"

typedef struct Row {
        const char *name;
        CoverMount mounts[6];
        int covers[6]; /* -1: none */
} Row;

static const Row rows[] = {
        { "nothing",
          { { 1, 0, "/" }, { 2, 1, "/k" }, { 3, 2, V(a) }, { 4, 2, V(b) }, { 5, 1, "/other" } },
          { -1, -1, -1, -1, -1 } },
        { "on-top", { { 1, 0, "/" }, { 3, 1, V(a) }, { 4, 3, V(a) }, { 5, 1, V(b) } }, { -1, 2, -1, -1 } },
        { "above", { { 1, 0, "/" }, { 3, 1, V(a) }, { 4, 1, "/k/pods" }, { 5, 1, "/k/pod" } }, { -1, 2, -1, -1 } },
        { "above-parent", { { 1, 0, "/" }, { 2, 1, "/k" }, { 3, 2, V(a) }, { 4, 2, "/k" } }, { -1, 3, 3, -1 } },
        { "over-parent", { { 1, 0, "/" }, { 2, 1, "/a/b" }, { 3, 2, "/a/b/c" }, { 4, 1, "/a" } }, { -1, 3, 3, -1 } },
        { "inside", { { 1, 0, "/" }, { 2, 1, V(a) }, { 3, 2, V(a) "/sub" } }, { -1, -1, -1 } },
        /* The one beneath is hidden, but hides nothing of what is in the one on top. */
        { "stacked",
          { { 1, 0, "/" }, { 2, 1, "/k" }, { 3, 2, "/k/x" }, { 4, 2, "/k" }, { 5, 4, "/k/x" } },
          { -1, 3, 3, -1, -1 } },
        { "root-covered", { { 1, 0, "/" }, { 2, 1, "/k" }, { 3, 1, "/" } }, { 2, 2, -1 } },
        { "circle", { { 1, 2, "/a" }, { 2, 1, "/b" } }, { -1, -1 } },
        { "own-parent", { { 1, 1, "/" }, { 2, 1, "/k" } }, { -1, -1 } },
};

static void test_row(gconstpointer data) {
        const Row *row = data;
        g_autofree size_t *covers = NULL;
        size_t n = 0;

        while (n < G_N_ELEMENTS(row->mounts) && row->mounts[n].target)
                n++;
        g_assert_cmpint(cover_find(row->mounts, n, &covers), ==, 0);
        for (size_t i = 0; i < n; i++)
                g_assert_cmpint(covers[i] == SIZE_MAX ? -1 : (int) covers[i], ==, row->covers[i]);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *path = g_strdup_printf("/cover/%s", rows[i].name);

                g_test_add_data_func(path, &rows[i], test_row);
        }
        return g_test_run();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which mounts of a table are hidden. */

#include "mount/overlap.h"
#include "support/cases.h"

#define V(i) "/k/pods/" #i "/v"
#define M(id_, parent_, target_) \
        { .id = id_, .parent = parent_, .target = target_ }

typedef struct Row {
        const char *name;
        Mount mounts[6]; /* by id */
        int covers[6];   /* -1: none */
} Row;

static const Row rows[] = {
        { "nothing",
          { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, V(a)), M(4, 2, V(b)), M(5, 1, "/other") },
          { -1, -1, -1, -1, -1 } },
        { "on-top", { M(1, 0, "/"), M(3, 1, V(a)), M(4, 3, V(a)), M(5, 1, V(b)) }, { -1, 2, -1, -1 } },
        { "above", { M(1, 0, "/"), M(3, 1, V(a)), M(4, 1, "/k/pods"), M(5, 1, "/k/pod") }, { -1, 2, -1, -1 } },
        { "above-parent", { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, V(a)), M(4, 2, "/k") }, { -1, 3, 3, -1 } },
        { "over-parent", { M(1, 0, "/"), M(2, 1, "/a/b"), M(3, 2, "/a/b/c"), M(4, 1, "/a") }, { -1, 3, 3, -1 } },
        { "inside", { M(1, 0, "/"), M(2, 1, V(a)), M(3, 2, V(a) "/sub") }, { -1, -1, -1 } },
        /* The one beneath is hidden, but hides nothing of what is in the one on top. */
        { "stacked",
          { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, "/k/x"), M(4, 2, "/k"), M(5, 4, "/k/x") },
          { -1, 3, 3, -1, -1 } },
        { "root-covered", { M(1, 0, "/"), M(2, 1, "/k"), M(3, 1, "/") }, { 2, 2, -1 } },
        { "circle", { M(1, 2, "/a"), M(2, 1, "/b") }, { -1, -1 } },
        { "own-parent", { M(1, 1, "/"), M(2, 1, "/k") }, { -1, -1 } },
};

static void test_row(gconstpointer data) {
        const Row *row = data;
        const Mount *by_id[G_N_ELEMENTS(row->mounts)];
        MountTable table = { .mounts = (Mount *) row->mounts, .by_id = by_id };
        g_autofree const Mount **covers = NULL;

        for (; table.n < G_N_ELEMENTS(row->mounts) && row->mounts[table.n].target; table.n++)
                by_id[table.n] = &row->mounts[table.n];
        g_assert_cmpint(cover_find(&table, &covers), ==, 0);
        for (size_t i = 0; i < table.n; i++)
                g_assert_cmpint(covers[i] ? (int) (covers[i] - row->mounts) : -1, ==, row->covers[i]);
}

void add_tests(void) {
        add_rows("/cover", rows, test_row);
}

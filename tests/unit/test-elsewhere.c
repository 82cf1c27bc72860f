/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which mounts of a table show the same files outside of the roots. */

#include "mount/overlap.h"
#include "support/cases.h"

#define M(device_, root_, target_) \
        { .device = device_, .root = root_, .target = target_ }

typedef struct Row {
        const char *name;
        Mount mounts[6];
        int elsewhere[6]; /* -1: none */
} Row;

static const Row rows[] = {
        { "nothing", { M(1, "/", "/"), M(2, "/", "/k/a"), M(3, "/", "/mnt") }, { -1, -1, -1 } },
        { "bound", { M(1, "/", "/"), M(2, "/", "/k/a"), M(2, "/", "/mnt") }, { -1, 2, -1 } },
        { "before", { M(2, "/", "/mnt"), M(1, "/", "/"), M(2, "/", "/k/a") }, { -1, -1, 0 } },
        { "part", { M(2, "/", "/k/a"), M(2, "/sub/dir", "/mnt") }, { 1, -1 } },
        { "first", { M(2, "/", "/k/a"), M(2, "/", "/x"), M(3, "/", "/a"), M(2, "/", "/b") }, { 1, -1, -1, -1 } },
        { "subvolume", { M(2, "/v", "/k/a"), M(2, "/w", "/mnt"), M(2, "/v/sub", "/opt") }, { 2, -1, -1 } },
        { "other-subvolume", { M(2, "/v", "/k/a"), M(2, "/", "/mnt"), M(2, "/vv", "/opt") }, { -1, -1, -1 } },
        { "beneath-roots", { M(2, "/", "/k/a"), M(2, "/sub", "/k/b"), M(2, "/", "/l/b") }, { -1, -1, -1 } },
        { "of-the-host", { M(1, "/", "/"), M(1, "/var/k/b", "/k/b") }, { -1, -1 } },
};

static void test_row(gconstpointer data) {
        char *roots[] = { (char *) "/k", (char *) "/l", NULL };
        const Row *row = data;
        MountTable table = { .mounts = (Mount *) row->mounts };
        g_autofree const Mount **elsewhere = NULL;

        while (table.n < G_N_ELEMENTS(row->mounts) && row->mounts[table.n].target)
                table.n++;
        g_assert_cmpint(elsewhere_find(&table, roots, &elsewhere), ==, 0);
        for (size_t i = 0; i < table.n; i++)
                g_assert_cmpint(elsewhere[i] ? (int) (elsewhere[i] - row->mounts) : -1, ==, row->elsewhere[i]);
}

void add_tests(void) {
        add_rows("/elsewhere", rows, test_row);
}

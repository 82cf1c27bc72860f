/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mounts of a table may hide each other, or show the same files outside of the roots. */

#include "mount/overlap.h"
#include "support/cases.h"

#define V(i) "/k/pods/" #i "/v"

typedef struct Row {
        const char *name;
        Mount mounts[6];
        int others[6]; /* indexes of the mounts that hide each mount, or show its files elsewhere; -1: none */
} Row;

#define M(id_, parent_, target_) \
        { .id = id_, .parent = parent_, .target = target_ }

static const Row covers[] = {
        { "nothing",
          { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, V(a)), M(4, 2, V(b)), M(5, 1, "/other") },
          { -1, -1, -1, -1, -1 } },
        { "on-top", { M(1, 0, "/"), M(3, 1, V(a)), M(4, 3, V(a)), M(5, 1, V(b)) }, { -1, 2, -1, -1 } },
        { "above", { M(1, 0, "/"), M(3, 1, V(a)), M(4, 1, "/k/pods"), M(5, 1, "/k/pod") }, { -1, 2, -1, -1 } },
        { "above-parent", { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, V(a)), M(4, 2, "/k") }, { -1, 3, 3, -1 } },
        { "over-parent", { M(1, 0, "/"), M(2, 1, "/a/b"), M(3, 2, "/a/b/c"), M(4, 1, "/a") }, { -1, 3, 3, -1 } },
        { "inside", { M(1, 0, "/"), M(2, 1, V(a)), M(3, 2, V(a) "/sub") }, { -1, -1, -1 } },
        /* The mount beneath is hidden, but hides no mount inside of the one on top. */
        { "stacked",
          { M(1, 0, "/"), M(2, 1, "/k"), M(3, 2, "/k/x"), M(4, 2, "/k"), M(5, 4, "/k/x") },
          { -1, 3, 3, -1, -1 } },
        { "root-covered", { M(1, 0, "/"), M(2, 1, "/k"), M(3, 1, "/") }, { 2, 2, -1 } },
        { "circle", { M(1, 2, "/a"), M(2, 1, "/b") }, { -1, -1 } },
        { "own-parent", { M(1, 1, "/"), M(2, 1, "/k") }, { -1, -1 } },
};

#undef M
#define M(device_, root_, target_) \
        { .device = device_, .root = root_, .target = target_ }

static const Row elsewhere[] = {
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

#undef M
#define M(id_, parent_, group_, root_, target_) \
        { .id = id_, .parent = parent_, .peer_group = group_, .root = root_, .target = target_ }

static const Row peers[] = {
        { "bound-root",
          { M(1, 0, 1, "/", "/"), M(2, 1, 2, "/k", "/k"), M(3, 1, 2, "/k", "/d/k"), M(4, 2, 3, "/", "/k/a"),
            M(5, 3, 3, "/", "/d/k/a") },
          { -1, -1, -1, 3, 3 } },
        { "above-root",
          { M(1, 0, 1, "/", "/"), M(2, 1, 2, "/", "/d"), M(3, 1, 2, "/k", "/k"), M(4, 2, 3, "/", "/d/k/a"),
            M(5, 3, 3, "/", "/k/a") },
          { -1, -1, -1, 3, 3 } },
        { "three-places",
          { M(1, 1, 1, "/", "/"), M(2, 1, 1, "/x", "/y"), M(3, 1, 1, "/x/z", "/z"), M(4, 1, 3, "/", "/x/z/a"),
            M(5, 2, 3, "/", "/y/z/a"), M(6, 3, 3, "/", "/z/a") },
          { -1, -1, -1, 3, 3, 3 } },
        { "by-hand", { M(1, 0, 1, "/", "/"), M(2, 1, 2, "/", "/k/a"), M(3, 1, 2, "/", "/mnt") }, { -1, -1, -1 } },
        { "other-directory",
          { M(1, 0, 1, "/", "/"), M(2, 1, 1, "/", "/d"), M(3, 1, 3, "/", "/a"), M(4, 2, 3, "/sub", "/d/a") },
          { -1, -1, -1, -1 } },
        { "other-group",
          { M(1, 0, 1, "/", "/"), M(2, 1, 1, "/", "/d"), M(3, 1, 3, "/", "/a"), M(4, 2, 4, "/", "/d/a") },
          { -1, -1, -1, -1 } },
        { "private",
          { M(1, 0, 0, "/", "/"), M(2, 1, 0, "/", "/d"), M(3, 1, 0, "/", "/a"), M(4, 2, 0, "/", "/d/a") },
          { -1, -1, -1, -1 } },
};

#undef M
#define M(id_, parent_, group_, target_)                                                                    \
        {                                                                                                   \
                .id = id_, .parent = parent_, .peer_group = group_, .device = id_ > 2 ? 9 : 1, .root = "/", \
                .target = target_                                                                           \
        }

static const Row peers_elsewhere[] = {
        { "copied",
          { M(1, 0, 1, "/k"), M(2, 0, 1, "/d"), M(3, 1, 3, "/k/a"), M(4, 2, 3, "/d/a") },
          { -1, -1, -1, -1 } },
        { "copied-of-another",
          { M(1, 0, 1, "/k"), M(2, 0, 1, "/d"), M(3, 1, 3, "/k/a"), M(4, 2, 3, "/d/a"), M(5, 1, 0, "/k/b") },
          { -1, -1, -1, -1, -1 } },
        { "by-hand",
          { M(1, 0, 1, "/k"), M(2, 0, 1, "/d"), M(3, 1, 3, "/k/a"), M(4, 2, 3, "/d/b") },
          { -1, -1, 3, -1 } },
};

static void check(const Row *row, int (*find)(const MountTable *table, const Mount ***ret)) {
        const Mount *by_id[G_N_ELEMENTS(row->mounts)];
        MountTable table = { .mounts = (Mount *) row->mounts, .by_id = by_id };
        g_autofree const Mount **others = NULL;

        for (; table.n < G_N_ELEMENTS(row->mounts) && row->mounts[table.n].target; table.n++)
                by_id[table.n] = &row->mounts[table.n]; /* covers[] is in the order of ids */
        g_assert_cmpint(find(&table, &others), ==, 0);
        for (size_t i = 0; i < table.n; i++)
                g_assert_cmpint(others[i] ? (int) (others[i] - row->mounts) : -1, ==, row->others[i]);
}

TEST_ROWS(test_cover, "/cover", covers, row) {
        check(row, cover_find);
}

TEST_ROWS(test_peers, "/peers", peers, row) {
        check(row, peers_find);
}

static int find_elsewhere(const MountTable *table, const Mount ***ret) {
        char *roots[] = { (char *) "/k", (char *) "/l", NULL };

        return elsewhere_find(table, roots, ret);
}

TEST_ROWS(test_elsewhere, "/elsewhere", elsewhere, row) {
        check(row, find_elsewhere);
}

TEST_ROWS(test_peers_elsewhere, "/peers-elsewhere", peers_elsewhere, row) {
        check(row, find_elsewhere);
}

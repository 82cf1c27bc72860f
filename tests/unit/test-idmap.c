/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/idmap.h"
#include "support/cases.h"

/* The map of a swap has every id once on each side, and moves only two. */
static const struct {
        gid_t a, b;
        const char *map;
} maps[] = {
        { 1000, 2000, "0 0 1000\n1000 2000 1\n1001 1001 999\n2000 1000 1\n2001 2001 4294965294\n" },
        { 0, 1, "0 1 1\n1 0 1\n2 2 4294967293\n" },
        { 0, 5, "0 5 1\n1 1 4\n5 0 1\n6 6 4294967289\n" },
        { 7, 8, "0 0 7\n7 8 1\n8 7 1\n9 9 4294967286\n" },
        { 5, 4294967294, "0 0 5\n5 4294967294 1\n6 6 4294967288\n4294967294 5 1\n" },
        { 0, 4294967294, "0 4294967294 1\n1 1 4294967293\n4294967294 0 1\n" },
        { 4294967293, 4294967294, "0 0 4294967293\n4294967293 4294967294 1\n4294967294 4294967293 1\n" },
        { 2147483647, 2147483648U,
          "0 0 2147483647\n2147483647 2147483648 1\n2147483648 2147483647 1\n2147483649 2147483649 2147483646\n" },
};

static void assert_covers_all(const char *map, gid_t a, gid_t b) {
        g_auto(GStrv) lines = g_strsplit(map, "\n", -1);
        guint64 next = 0;

        g_assert_cmpuint(g_strv_length(lines), <=, 6);
        for (char **line = lines; **line; line++) {
                g_auto(GStrv) words = g_strsplit(*line, " ", -1);
                guint64 inside = g_ascii_strtoull(words[0], NULL, 10), outside = g_ascii_strtoull(words[1], NULL, 10),
                        count = g_ascii_strtoull(words[2], NULL, 10);

                g_assert_cmpuint(inside, ==, next);
                g_assert_cmpuint(outside, ==, inside == a ? b : inside == b ? a : inside);
                g_assert_cmpuint(count, >, 0);
                if (inside == a || inside == b)
                        g_assert_cmpuint(count, ==, 1);
                next = inside + count;
        }
        g_assert_cmpuint(next, ==, G_MAXUINT32);
}

TEST(test_map, "/idmap/map") {
        char map[IDMAP_TEXT_SIZE];

        for (size_t i = 0; i < G_N_ELEMENTS(maps); i++) {
                idmap_swap_map(maps[i].a, maps[i].b, map);
                g_assert_cmpstr(map, ==, maps[i].map);
                assert_covers_all(map, maps[i].a, maps[i].b);
                idmap_swap_map(maps[i].b, maps[i].a, map);
                g_assert_cmpstr(map, ==, maps[i].map);
        }
        for (unsigned i = 0; i < 1000; i++) {
                gid_t a = g_test_rand_int() & 0x7fffffff, b = a ^ (1U << (i % 31));

                idmap_swap_map(a, b, map);
                assert_covers_all(map, a, b);
        }
}

TEST(test_unsupported, "/idmap/unsupported") {
        static const int unsupported[] = { EPERM, EINVAL, ENOSYS, EOPNOTSUPP, ENOSPC, EUSERS, EACCES },
                         failures[] = { 0, EIO, ENOMEM, EBUSY, EBADF, ERANGE, ECHILD, EAGAIN };

        for (size_t i = 0; i < G_N_ELEMENTS(unsupported); i++) {
                g_assert_true(idmap_is_unsupported(unsupported[i]));
                g_assert_true(idmap_is_unsupported(-unsupported[i]));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(failures); i++)
                g_assert_false(idmap_is_unsupported(-failures[i]));
}

/* The call refuses such groups before it uses the descriptor. */
TEST(test_no_two_groups, "/idmap/no-two-groups") {
        g_assert_cmpint(idmap_swap_groups(-1, 7, 7), ==, -ERANGE);
        g_assert_cmpint(idmap_swap_groups(-1, (gid_t) -1, 7), ==, -ERANGE);
        g_assert_cmpint(idmap_swap_groups(-1, 7, (gid_t) -1), ==, -ERANGE);
}

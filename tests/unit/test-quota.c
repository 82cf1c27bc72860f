/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>

#include "model/quota.h"
#include "support/cases.h"

/* selvold(8) has the same limits: for all users, for root, for one user, and for a connection of root. */
static const struct {
        LimitKind kind;
        gsize users, root, user, connection;
} rows[] = {
        { LIMIT_JOBS, 48, 64, 12, 48 },
        { LIMIT_JOBS_TO_UNMOUNT, 56, 80, 15, SIZE_MAX },
        { LIMIT_SOURCE, 13, 16, 4, SIZE_MAX },
        { LIMIT_WAITING, 1536, 2048, 384, 1024 },
        { LIMIT_WAITING_TO_UNMOUNT, 1536, 2560, 480, SIZE_MAX },
        { LIMIT_WAITING_BYTES, 1572864, 2097152, 393216, 1048576 },
        { LIMIT_WAITING_BYTES_TO_UNMOUNT, 1572864, 2621440, 491520, SIZE_MAX },
        { LIMIT_WAITERS, 64, 96, 16, SIZE_MAX },
        { LIMIT_WAITERS_TO_CANCEL, 80, 112, 20, SIZE_MAX },
        { LIMIT_CALLS_WAITING_BYTES, 6291456, 8388608, 1572864, SIZE_MAX },
        { LIMIT_QUESTIONS, 64, 64, 16, SIZE_MAX },
        { LIMIT_HOLDERS, 3072, 4096, 768, SIZE_MAX },
        { LIMIT_RECORD_BYTES, 6291456, 8388608, 1572864, SIZE_MAX },
        { LIMIT_CALLS, 4096, 5120, 1024, 1024 },
};

static QuotaResult check(LimitKind kind, gsize all, gsize caller, gsize amount, gboolean trusted) {
        const Quota q = { .all = all, .caller = caller };

        return quota_check(&q, kind, amount, trusted);
}

/* A limit of one caller, beside others that leave room. */
static void check_caller(LimitKind kind, gsize limit, gboolean trusted) {
        if (limit == SIZE_MAX)
                return;
        g_assert_cmpint(check(kind, limit - 1, limit - 1, 1, trusted), ==, QUOTA_FITS);
        g_assert_cmpint(check(kind, limit, limit, 1, trusted), ==, QUOTA_CALLER_IS_FULL);
        g_assert_cmpint(check(kind, 0, 0, limit + 1, trusted), ==, QUOTA_CALLER_IS_FULL);
}

TEST(test_borders, "/quota/borders") {
        G_STATIC_ASSERT(G_N_ELEMENTS(rows) == LIMIT_KINDS);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                LimitKind kind = rows[i].kind;
                gsize users = rows[i].users, root = rows[i].root;

                g_test_message("%i", (int) kind);
                g_assert_cmpint(check(kind, users - 1, 0, 1, FALSE), ==, QUOTA_FITS);
                g_assert_cmpint(check(kind, users, 0, 1, FALSE), ==, QUOTA_ALL_IS_FULL);
                g_assert_cmpint(check(kind, users - 1, 0, 2, FALSE), ==, QUOTA_ALL_IS_FULL);
                g_assert_cmpint(check(kind, root - 1, 0, 1, TRUE), ==, QUOTA_FITS);
                g_assert_cmpint(check(kind, root, 0, 1, TRUE), ==, QUOTA_ALL_IS_FULL);
                check_caller(kind, rows[i].user, FALSE);
                check_caller(kind, rows[i].connection, TRUE);
        }
}

/* Three users take all that they can; a fourth one, and root, find room. */
TEST(test_four_users, "/quota/four-users") {
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_assert_cmpint(check(rows[i].kind, 3 * rows[i].user, 0, 1, FALSE), ==, QUOTA_FITS);
                g_assert_cmpint(check(rows[i].kind, 3 * rows[i].user, 0, 1, TRUE), ==, QUOTA_FITS);
        }
}

/* Unmounts count among all jobs: those of three users leave room for mounts of a fourth one, and of root. */
TEST(test_unmounts, "/quota/unmounts") {
        g_assert_cmpint(check(LIMIT_JOBS, 3 * rows[LIMIT_JOBS_TO_UNMOUNT].user, 0, 1, FALSE), ==, QUOTA_FITS);
        g_assert_cmpint(check(LIMIT_WAITING, 3 * rows[LIMIT_WAITING_TO_UNMOUNT].user, 0, 1, FALSE), ==, QUOTA_FITS);
        g_assert_cmpuint(rows[LIMIT_WAITING_TO_UNMOUNT].users, <, rows[LIMIT_WAITING].root);
        g_assert_cmpint(check(LIMIT_WAITING_BYTES, 3 * rows[LIMIT_WAITING_BYTES_TO_UNMOUNT].user, 0, 1, FALSE), ==,
                        QUOTA_FITS);
        g_assert_cmpuint(rows[LIMIT_JOBS_TO_UNMOUNT].users, <, rows[LIMIT_JOBS].root);
}

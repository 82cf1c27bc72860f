/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>

#include "model/quota.h"
#include "support/cases.h"

/* selvold(8) has the same limits: for users, for root, and for one caller. */
static const struct {
        LimitKind kind;
        gsize user, root, caller;
} rows[] = {
        { LIMIT_JOBS, 48, 64, 48 },
        { LIMIT_JOBS_TO_UNMOUNT, 80, 80, SIZE_MAX },
        { LIMIT_SOURCE, 16, 16, SIZE_MAX },
        { LIMIT_WAITING, 3072, 4096, 1024 },
        { LIMIT_WAITING_TO_UNMOUNT, 4096, 5120, SIZE_MAX },
        { LIMIT_WAITERS, 64, 96, 32 },
        { LIMIT_WAITERS_TO_CANCEL, 80, 112, SIZE_MAX },
        { LIMIT_QUESTIONS, 64, 64, 32 },
        { LIMIT_CALLS, 4096, 5120, 1024 },
};

static QuotaResult check(LimitKind kind, gsize all, gsize caller, gsize amount, gboolean trusted) {
        const Quota q = { .all = all, .caller = caller };

        return quota_check(&q, kind, amount, trusted);
}

TEST(test_borders, "/quota/borders") {
        G_STATIC_ASSERT(G_N_ELEMENTS(rows) == LIMIT_KINDS);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                LimitKind kind = rows[i].kind;
                gsize user = rows[i].user, root = rows[i].root, caller = rows[i].caller;

                g_test_message("%i", (int) kind);
                g_assert_cmpint(check(kind, user - 1, 0, 1, FALSE), ==, QUOTA_FITS);
                g_assert_cmpint(check(kind, user, 0, 1, FALSE), ==, QUOTA_ALL_IS_FULL);
                g_assert_cmpint(check(kind, user - 1, 0, 2, FALSE), ==, QUOTA_ALL_IS_FULL);
                g_assert_cmpint(check(kind, root - 1, 0, 1, TRUE), ==, QUOTA_FITS);
                g_assert_cmpint(check(kind, root, 0, 1, TRUE), ==, QUOTA_ALL_IS_FULL);
                if (caller == SIZE_MAX)
                        continue;
                g_assert_cmpint(check(kind, 0, caller - 1, 1, FALSE), ==, QUOTA_FITS);
                g_assert_cmpint(check(kind, 0, caller, 1, FALSE), ==, QUOTA_CALLER_IS_FULL);
                g_assert_cmpint(check(kind, 0, caller, 1, TRUE), ==, QUOTA_CALLER_IS_FULL);
        }
}

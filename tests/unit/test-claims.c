/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/claims.h"
#include "support/cases.h"

enum { CLAIMANTS = 3 };

typedef struct Fixture {
        Claims claims;
        Claimant c[CLAIMANTS];
} Fixture;

static void fixture_tear_down(Fixture *f, gconstpointer data) {
        for (size_t i = 0; i < CLAIMANTS; i++)
                claims_leave(&f->claims, &f->c[i]);
        g_assert_null(f->claims.table);
}

static void enter(Fixture *f, size_t i, const char *first, const char *second) {
        g_assert_cmpint(claims_enter(&f->claims, &f->c[i], (const char *const[]){ first, second }, 2), ==, 0);
}

static void add(Fixture *f, size_t i, const char *key) {
        g_assert_cmpint(claims_add(&f->claims, &f->c[i], key), ==, 0);
}

/* The claimants of a key get it in the order in which they came. */
TEST_SET_UP(test_line, "/claims/line", NULL) {
        for (size_t i = 0; i < CLAIMANTS; i++)
                enter(f, i, "v", NULL);
        g_assert_false(claims_is_owned(&f->claims, "v"));
        g_assert_false(claims_take(&f->c[1]));
        g_assert_true(claims_take(&f->c[0]));
        g_assert_true(claims_take(&f->c[0]));
        g_assert_true(claims_is_owned(&f->claims, "v"));
        g_assert_true(claims_find_blocker(&f->c[2]) == &f->c[0]);

        claims_leave(&f->claims, &f->c[0]);
        g_assert_false(claims_is_owned(&f->claims, "v"));
        g_assert_false(claims_take(&f->c[2]));
        g_assert_true(claims_find_blocker(&f->c[2]) == &f->c[1]);
        g_assert_true(claims_take(&f->c[1]));
}

/* A claimant gets all its keys or none, and while it gets none, nobody passes it. */
TEST_SET_UP(test_together, "/claims/together", NULL) {
        enter(f, 0, "v", "a");
        enter(f, 1, "w", "a");
        enter(f, 2, NULL, "w");
        g_assert_true(claims_take(&f->c[0]));
        g_assert_false(claims_take(&f->c[1]));
        g_assert_false(claims_is_owned(&f->claims, "w"));
        g_assert_false(claims_take(&f->c[2]));
        g_assert_true(claims_find_blocker(&f->c[2]) == &f->c[1]);

        claims_leave(&f->claims, &f->c[0]);
        g_assert_false(claims_is_owned(&f->claims, "v"));
        g_assert_true(claims_take(&f->c[1]));
}

/* A passive claimant lets others pass, but keeps its place, and the keys that it owns. */
TEST_SET_UP(test_passive, "/claims/passive", NULL) {
        for (size_t i = 0; i < CLAIMANTS; i++)
                enter(f, i, "v", NULL);
        f->c[0].passive = true;
        g_assert_true(claims_take(&f->c[1]));
        f->c[0].passive = false;
        g_assert_true(claims_find_blocker(&f->c[0]) == &f->c[1]);
        claims_leave(&f->claims, &f->c[1]);
        g_assert_false(claims_take(&f->c[2]));
        g_assert_true(claims_take(&f->c[0]));

        f->c[0].passive = true;
        g_assert_false(claims_take(&f->c[2]));
        g_assert_true(claims_find_blocker(&f->c[2]) == &f->c[0]);
}

/* A claimant that yields owns no key any more, and is first again as soon as it is not passive. */
TEST_SET_UP(test_yield, "/claims/yield", NULL) {
        enter(f, 0, "v", "a");
        enter(f, 1, "v", "b");
        g_assert_true(claims_take(&f->c[0]));
        claims_yield(&f->c[0]);
        g_assert_false(claims_is_owned(&f->claims, "v"));
        g_assert_false(claims_is_owned(&f->claims, "a"));
        g_assert_false(claims_take(&f->c[1]));
        f->c[0].passive = true;
        g_assert_true(claims_take(&f->c[1]));

        /* A claimant does not give up the keys of others. */
        claims_yield(&f->c[0]);
        g_assert_true(claims_is_owned(&f->claims, "v"));
        g_assert_true(claims_is_owned(&f->claims, "b"));
}

/* In the line of an added key a claimant stands by its own age, behind the owner. To drop the key leaves only
 * that line. */
TEST_SET_UP(test_drop, "/claims/drop", NULL) {
        for (size_t i = 0; i < CLAIMANTS; i++)
                enter(f, i, (const char *const[]){ "u", "v", "w" }[i], NULL);
        for (size_t i = CLAIMANTS; i-- > 0;)
                g_assert_true(claims_take(&f->c[i]));
        add(f, 2, "device");
        g_assert_true(claims_take(&f->c[2]));
        add(f, 1, "device");
        add(f, 0, "device");
        g_assert_false(claims_take(&f->c[0]));
        g_assert_true(claims_find_blocker(&f->c[0]) == &f->c[2]);
        claims_leave(&f->claims, &f->c[2]);
        g_assert_true(claims_find_blocker(&f->c[1]) == &f->c[0]);
        g_assert_cmpstr(claims_last_key(&f->c[0], 1), ==, "device");
        g_assert_null(claims_last_key(&f->c[0], 2));

        claims_drop_last(&f->claims, &f->c[0]);
        g_assert_null(claims_last_key(&f->c[0], 1));
        g_assert_true(claims_is_owned(&f->claims, "u"));
        g_assert_true(claims_take(&f->c[1]));
        claims_drop_last(&f->claims, &f->c[1]);
        g_assert_false(claims_is_owned(&f->claims, "device"));
        g_assert_true(claims_is_owned(&f->claims, "v"));
}

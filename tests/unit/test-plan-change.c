/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-rows.h"

/* Relabel and ApplyOwnership change the files of a volume without a mount, unless somebody is in the way. */

static void set_up(Fixture *x) {
        Volume *v = fixture_volume(x, TEST_VOLUME);

        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, "ext4"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->volume_type, "csi"), ==, 0);
        v->mounted_here = true;
        fixture_set_up(x, NULL);
}

static void assert_relabels(const Plan *p) {
        g_assert_cmpstr(p->runtime_flag, ==, "");
        g_assert_cmpint(p->strategy, ==, STRATEGY_RELABEL);
        g_assert_true(p->relabel_here);
        g_assert_cmpint(p->reason, ==, REASON_REQUESTED);
        g_assert_cmpstr(p->text, ==, plan_reason_text(REASON_REQUESTED));
}

static void assert_gives_group(const Plan *p) {
        g_assert_cmpint(p->ownership, ==, OWNERSHIP_WALK);
        g_assert_cmpint(p->ownership_reason, ==, OWNERSHIP_REQUESTED);
        g_assert_cmpstr(p->text, ==, ownership_reason_text(OWNERSHIP_REQUESTED));
        g_assert_cmpint(p->strategy, ==, STRATEGY_NONE);
        g_assert_cmpstr(p->context, ==, "");
        g_assert_cmpstr(p->runtime_flag, ==, "");
        g_assert_false(p->relabel_here);
        g_assert_cmpint(p->change, ==, MARK_KEEP);
}

static void test_row(gconstpointer data) {
        Fixture x = { 0 };
        FailureKind kind;
        bool filled;

        set_up(&x);
        plan_row_check(&x, data);
        kind = x.failure.kind;
        /* A conflict comes with its plan; other failures leave the plan empty. */
        filled = kind == FAILURE_NONE || kind == FAILURE_CONTEXT_CONFLICT || kind == FAILURE_GROUP_CONFLICT;
        g_assert_cmpint(x.plan.text != NULL, ==, filled);
        if (filled && g_str_has_prefix(row_need(data, "call"), "relabel"))
                assert_relabels(&x.plan);
        else if (filled)
                assert_gives_group(&x.plan);
        fixture_tear_down(&x, NULL);
}

void add_tests(void) {
        table_add_tests(table_load("plan-change.table", PLAN_ROW_COLUMNS), "/plan-change", test_row);
}

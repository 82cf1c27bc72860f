/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan-refusal.h"
#include "plan-rows.h"

/* Each row of the tables in tests/data is a plan. */

static const char plan_columns[] =
        "id conf selinux mls seclabel gates type driver fs mode supported policy options "
        "user role settype level context "
        "readonly by =result =strategy =context =flag =reason =options =taints =here =change "
        "=kubelet note";
static const char pair_columns[] =
        "id type fs supported mode level1 policy1 level2 policy2 by1 by2 gates =result =strategy1 "
        "=strategy2 =context2 =flag2 "
        "=reason2 =kubelet note";
static const char matrix_columns[] = "id type fs 2015 mode =always =onvolumemount note";

/* OP and CP let only ReadWriteOncePod volumes be mounted with a context, SM and all let volumes of all
 * modes. */
static void set_gates(Settings *s, const char *word) {
        static const char *const words[] = { "off", "OP", "CP", "OP+CP", "SM", "all", NULL };

        if (!word)
                return;
        g_assert_true(g_strv_contains(words, word));
        s->gate_relabel_policy = !streq(word, "off");
        s->gate_mount = streq(word, "SM") || streq(word, "all");
}

static Request request_from_row(const Row *row) {
        const char *fs = row_has(row, "fs") ? row_get(row, "fs") : "ext4";
        Request q = make_request(TARGET_1, "pod-1", fs, row_get(row, "mode"), row_get(row, "policy"),
                                 row_get(row, "level"));

        request_take_cells(&q, row, "type driver user role settype context supported readonly options by");
        return q;
}

static void assert_message_helps(int r, const Failure *f) {
        switch (r) {
        case FAILURE_LEVEL_REQUIRED:
                assert_failure(r, f, FAILURE_LEVEL_REQUIRED, "SELinuxLevel", "s0:c10,c20", "\"RelabelBy\"=none",
                               "not generated");
                break;
        case FAILURE_CONTEXT_CONFLICT:
                assert_failure(r, f, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME, "is in use by pod-1", "; you asked for ",
                               "since 2026-01-02 03:04:05 UTC", ".\nStop pod-1, ");
                break;
        case FAILURE_TYPE_NOT_ALLOWED:
                assert_failure(r, f, FAILURE_TYPE_NOT_ALLOWED, "To allow it");
                break;
        case FAILURE_INCOMPATIBLE:
                assert_failure(r, f, FAILURE_INCOMPATIBLE, "pass one");
                break;
        default:
                break;
        }
}

/* In the tables "F:LEVEL" stands for the context that the policy has for container files, with that level. */
static char *expand_context(const char *cell) {
        if (cell && g_str_has_prefix(cell, "F:"))
                return g_strconcat("system_u:object_r:container_file_t:", cell + 2, NULL);
        return g_strdup(cell ? cell : "");
}

static void assert_cell(const Row *row, const char *column, const char *value) {
        g_autofree char *expected = expand_context(row_get(row, column));

        if (row_has(row, column))
                g_assert_cmpstr(value, ==, expected);
}

static void assert_plan_is_consistent(const Plan *p) {
        /* L3 of go-selinux: the flag is Z, z, or none. selvold never asks for z, which drops the
         * categories. */
        g_assert_true(streq(p->runtime_flag, "") || streq(p->runtime_flag, "Z"));
        g_assert_cmpint(streq(p->runtime_flag, "Z"), ==, p->strategy == STRATEGY_RELABEL && !p->relabel_here);
        g_assert_true(!p->relabel_here || (p->strategy == STRATEGY_RELABEL && !isempty(p->context)));
        g_assert_true(p->strategy != STRATEGY_CONTEXT_MOUNT || !isempty(p->context));
        g_assert_true(p->strategy != STRATEGY_NONE || isempty(p->context));
        if (p->read_only || p->relabel_here)
                g_assert_cmpint(p->change, ==, MARK_KEEP);
        else if (p->reason != REASON_SELINUX_DISABLED)
                g_assert_cmpint(p->change, ==,
                                p->strategy == STRATEGY_CONTEXT_MOUNT ? MARK_TAINT : MARK_RESET_LABELS);
        g_assert_true(g_str_has_suffix(p->text, "."));
        g_assert_cmpuint(p->n_conflicts, ==, 0);
        STRV_FOREACH (option, p->mount_options)
                g_assert_null(strstr(*option, "context="));
}

/* The column has the label with which kubelet mounts, "-" for none, or "error" if the pod can't start. */
static void compare_with_kubelet(const Row *row, int r, const Plan *p) {
        g_autofree char *kubelet = expand_context(row_get(row, "=kubelet"));
        const char *ours;

        if (!row_has(row, "=kubelet"))
                return;
        ours = r != 0 ? "error" : p->strategy == STRATEGY_CONTEXT_MOUNT ? p->context : "";
        assert_as_noted(row, strcmp(kubelet, ours) == 0);
}

static void test_row_with_default(const Row *row, int default_policy) {
        _cleanup_(node_done) Node node = test_node();
        Settings settings = test_settings(row_get(row, "conf"));
        _cleanup_(request_done) Request q = request_from_row(row);
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(plan_done) Plan p = { 0 };
        g_autofree char *options = NULL;
        const char *seclabel = row_get(row, "seclabel");
        Volumes none = { 0 };
        Observed observed = { 0 };
        int r;

        if (default_policy >= 0)
                settings.default_policy = (RelabelPolicy) default_policy;
        set_gates(&settings, row_get(row, "gates"));
        if (row_get(row, "selinux"))
                node.selinux = is_yes(row_get(row, "selinux"));
        if (row_get(row, "mls") && !is_yes(row_get(row, "mls"))) {
                node.mls = false;
                g_assert_cmpint(free_and_strdup(&node.file_context, "system_u:object_r:container_file_t"), ==, 0);
        }

        r = validate_and_plan(&node, &settings, &q, &none, &observed, seclabel ? is_yes(seclabel) : -1, &p, &f);
        g_assert_cmpstr(result_word(r, &f), ==, row_has(row, "=result") ? row_need(row, "=result") : "ok");
        assert_message_helps(r, &f);
        compare_with_kubelet(row, r, &p);
        if (r != 0)
                return;

        assert_cell(row, "=strategy", strategy_to_string(p.strategy));
        assert_cell(row, "=reason", reason_to_string(p.reason));
        assert_cell(row, "=context", p.context);
        assert_cell(row, "=flag", p.runtime_flag);
        options = strv_join(p.mount_options, ",");
        assert_cell(row, "=options", options);
        assert_cell(row, "=change", mark_change_to_string(p.change));
        if (row_has(row, "=here"))
                g_assert_cmpint(p.relabel_here, ==, is_yes(row_need(row, "=here")));
        if (row_has(row, "=taints"))
                g_assert_cmpint(p.change == MARK_TAINT, ==, is_yes(row_need(row, "=taints")));
        g_assert_null(p.share);
        assert_plan_is_consistent(&p);
}

static void test_row(gconstpointer data) {
        test_row_with_default(data, -1);
}

/* In the tables from Kubernetes a pod without a policy has the policy MountOption. */
static void test_kubernetes_row(gconstpointer data) {
        test_row_with_default(data, RELABEL_ON_VOLUME_MOUNT);
}

/* --- two pods on one node --- */

/* Records the holder that a mount by this plan leaves. */
static Volume *record(Volumes *volumes, const Request *q, const Plan *p) {
        Volume *v = volume_new(q->volume);
        Holder *h = calloc(1, sizeof(*h));

        g_assert_true(v && h);
        g_assert_cmpint(free_and_strdup(&v->context, p->context), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->source, strempty(q->source)), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, strempty(q->fs_type)), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->volume_type, q->volume_type), ==, 0);
        v->access_mode = q->access_mode;
        v->strategy = p->strategy;
        v->mark.tainted = p->change == MARK_TAINT;
        *h = (Holder){
                .name = copy(q->holder),
                .target = copy(q->target),
                .state = HOLDER_MOUNTED,
                .strategy = p->strategy,
                .context = copy(p->context),
                .relabeled_here = p->relabel_here,
                .since_usec = TEST_SINCE_USEC,
                .mount_id = 1,
                .read_only = p->read_only,
                .fs_group = p->fs_group,
                .disk_gid = p->fs_group,
        };
        g_assert_cmpint(volume_add_holder(v, h), ==, 0);
        g_assert_cmpint(volumes_add(volumes, v), ==, 0);
        return v;
}

static Request pair_request(const Row *row, int n) {
        Request q = make_request(n == 1 ? TARGET_1 : TARGET_2, n == 1 ? "pod-1" : "pod-2",
                                 row_get(row, "fs") ? row_get(row, "fs") : "ext4", row_get(row, "mode"),
                                 row_get(row, n == 1 ? "policy1" : "policy2"),
                                 row_get(row, n == 1 ? "level1" : "level2"));

        request_take_cells(&q, row, "type supported");
        if (row_get(row, n == 1 ? "by1" : "by2"))
                q.relabel_by = (RelabelBy) relabel_by_from_string(row_need(row, n == 1 ? "by1" : "by2"));
        return q;
}

static void assert_second_plan(const Row *row, const Plan *p, const Plan *first, bool shares) {
        assert_cell(row, "=strategy2", strategy_to_string(p->strategy));
        assert_cell(row, "=context2", p->context);
        assert_cell(row, "=flag2", p->runtime_flag);
        assert_plan_is_consistent(p);
        if (!shares) {
                g_assert_null(p->share);
                assert_cell(row, "=reason2", reason_to_string(p->reason));
                return;
        }
        /* B1 and B3: selvold stages nothing a second time. */
        g_assert_nonnull(p->share);
        g_assert_cmpstr(p->share->target, ==, TARGET_1);
        if (p->strategy == STRATEGY_CONTEXT_MOUNT) {
                g_assert_cmpint(p->reason, ==, REASON_CONTEXT_SHARED);
                g_assert_cmpstr(p->context, ==, first->context);
        } else
                assert_cell(row, "=reason2", reason_to_string(p->reason));
}

/* The second pod comes while the first runs; if it has to wait, it gets the volume when the first has
 * gone. */
static void test_pair(gconstpointer data) {
        const Row *row = data;
        const char *expected = row_need(row, "=result"), *kubelet = row_get(row, "=kubelet");
        _cleanup_(node_done) Node node = test_node();
        Settings settings = test_settings(NULL);
        _cleanup_(request_done) Request first = pair_request(row, 1), second = pair_request(row, 2);
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(plan_done) Plan plan = { 0 };
        _cleanup_(volumes_done) Volumes volumes = { 0 };
        _cleanup_(observed_done) Observed nothing = { 0 }, mounts = { 0 };
        Volume *v;
        bool runs;
        int r;

        settings.default_policy = RELABEL_ON_VOLUME_MOUNT;
        set_gates(&settings, row_get(row, "gates"));

        r = validate_and_plan(&node, &settings, &first, &volumes, &nothing, -1, &plan, &f);
        if (r == FAILURE_LEVEL_REQUIRED) {
                /* Without a level selvold refuses both pods, before it looks for conflicts. */
                g_assert_cmpstr(row_need(row, "=strategy1"), ==, "LevelRequired");
                g_assert_cmpstr(expected, ==, "LevelRequired");
                g_assert_true(g_str_has_prefix(row_need(row, "note"), "level-required:"));
                return;
        }
        assert_success(r, &f);
        assert_cell(row, "=strategy1", strategy_to_string(plan.strategy));
        v = record(&volumes, &first, &plan);
        observe(&mounts, TARGET_1, "ext4", plan.strategy == STRATEGY_CONTEXT_MOUNT ? plan.context : "");

        /* The record alone tells of the conflict, and a look at the mounts does not change the answer. */
        for (int seen = 0; seen < 2; seen++) {
                _cleanup_(plan_done) Plan p = { 0 };

                failure_done(&f);
                r = validate_and_plan(&node, &settings, &second, &volumes, seen ? &mounts : &nothing, -1, &p, &f);
                g_assert_cmpstr(result_word(r, &f), ==, expected);
                assert_message_helps(r, &f);
                if (r == 0)
                        assert_second_plan(row, &p, &plan, true);
                else if (r == FAILURE_CONTEXT_CONFLICT)
                        assert_conflict_with_pod_1(&p, v->context);
        }

        runs = strcmp(expected, "ok") == 0;
        if (kubelet) {
                g_assert_true(strcmp(kubelet, "runs") == 0 || strcmp(kubelet, "stuck") == 0);
                assert_as_noted(row, runs == (strcmp(kubelet, "runs") == 0));
        }
        if (strcmp(expected, "ContextConflict") != 0)
                return;

        /* B2 and B4 to B6: the first pod has gone, and selvold mounts the volume anew for the second. */
        volume_remove_holder(v, v->holders);
        failure_done(&f);
        plan_done(&plan);
        r = validate_and_plan(&node, &settings, &second, &volumes, &nothing, -1, &plan, &f);
        assert_success(r, &f);
        assert_second_plan(row, &plan, NULL, false);
}

/* --- the volume types --- */

typedef struct MatrixCase {
        const Row *row;
        const char *column;
} MatrixCase;

static void test_matrix(gconstpointer data) {
        const MatrixCase *c = data;
        _cleanup_(node_done) Node node = test_node();
        Settings settings = test_settings(NULL);
        _cleanup_(request_done) Request q = request_from_row(c->row);
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(plan_done) Plan p = { 0 };
        g_autofree char *answer = NULL;
        Volumes none = { 0 };
        Observed observed = { 0 };
        int r;

        q.policy = strcmp(c->column, "=always") == 0 ? RELABEL_ALWAYS : RELABEL_ON_VOLUME_MOUNT;
        q.level = copy("s0:c10,c0");
        r = validate_and_plan(&node, &settings, &q, &none, &observed, -1, &p, &f);
        assert_success(r, &f);
        assert_plan_is_consistent(&p);
        answer = g_strdup_printf("%s %s %s", strategy_to_string(p.strategy),
                                 isempty(p.runtime_flag) ? "-" : p.runtime_flag, reason_to_string(p.reason));
        g_assert_cmpstr(answer, ==, row_need(c->row, c->column));
        g_assert_cmpstr(p.context, ==,
                        p.strategy == STRATEGY_NONE ? "" : "system_u:object_r:container_file_t:s0:c0,c10");
}

/* The proposal of 2015 has never, always or sometimes, which means while unshared; where selvol's own setting
 * for a type differs, a note tells why. */
static void compare_with_2015(const Row *row) {
        const char *then = row_get(row, "2015"), *mode = row_need(row, "mode");
        bool managed = !strstr(row_need(row, "=always"), "not-managed"),
             shared = strcmp(mode, "ROX") == 0 || strcmp(mode, "RWX") == 0, expected;

        if (!then)
                return;
        expected = strcmp(then, "always") == 0 || (strcmp(then, "sometimes") == 0 && !shared);
        assert_as_noted(row, managed == expected);
}

static void test_matrix_always(gconstpointer data) {
        compare_with_2015(data);
        test_matrix(&(MatrixCase){ data, "=always" });
}

static void test_matrix_on_volume_mount(gconstpointer data) {
        test_matrix(&(MatrixCase){ data, "=onvolumemount" });
}

/* --- others who have the volume --- */

static void test_others(gconstpointer data) {
        Fixture x = { 0 };

        fixture_set_up(&x, NULL);
        plan_row_check(&x, data);
        fixture_tear_down(&x, NULL);
}

/* --- changes without a mount --- */

/* Relabel and ApplyOwnership change the files of a volume without a mount, unless somebody is in the way. */
static void set_up_change(Fixture *x) {
        Volume *v = fixture_volume(x, TEST_VOLUME);

        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->mount_type, "ext4"), ==, 0);
        v->identity = (Identity){ "ext4:" UUID_1 };
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

static void test_change(gconstpointer data) {
        Fixture x = { 0 };
        FailureKind kind;
        bool filled;

        set_up_change(&x);
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

static void test_podman(void) {
        const Conflict c = { .volume = (char *) "selvol-volume-plugin/d b",
                             .holder = (char *) "podman:d b",
                             .target = (char *) "/t" };
        g_autofree char *end = plan_describe_end(&c);

        g_assert_cmpstr(end, ==, "Stop its containers (podman stop $(podman ps -q --filter volume='d b'))");
}

void add_tests(void) {
        Table *matrix = table_load("volume-types.table", matrix_columns);

        g_test_add_func("/plan/podman", test_podman);
        table_add_tests(table_load("kep-1710.table", plan_columns), "/plan/kep", test_row);
        table_add_tests(table_load("overrides.table", plan_columns), "/plan/overrides", test_row);
        table_add_tests(table_load("relabel-by.table", plan_columns), "/plan/relabel-by", test_row);
        table_add_tests(table_load("kubernetes-one-pod.table", plan_columns), "/plan/kubernetes",
                        test_kubernetes_row);
        table_add_tests(table_load("kubernetes-two-pods.table", pair_columns), "/plan/kubernetes", test_pair);
        table_add_tests(matrix, "/plan/types/always", test_matrix_always);
        table_add_tests(matrix, "/plan/types/on-volume-mount", test_matrix_on_volume_mount);
        table_add_tests(table_load("plan-others.table", PLAN_ROW_COLUMNS), "/plan", test_others);
        table_add_tests(table_load("plan-change.table", PLAN_ROW_COLUMNS), "/plan-change", test_change);
}

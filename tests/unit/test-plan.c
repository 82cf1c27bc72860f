/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "plan-fixture.h"

/* The plan, row by row of the tables in tests/data. */

#define TARGET_3 "/var/lib/kubelet/pods/3/volumes/v/mount"

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

/* OP, CP: only ReadWriteOncePod volumes are mounted with a context. SM, all: volumes of all modes. */
static void set_gates(Settings *s, const char *word) {
        if (!word)
                return;
        s->gate_relabel_policy = strcmp(word, "off") != 0;
        s->gate_mount = strcmp(word, "SM") == 0 || strcmp(word, "all") == 0;
        if (!s->gate_mount && strcmp(word, "off") != 0 && strcmp(word, "OP") != 0 && strcmp(word, "CP") != 0 &&
            strcmp(word, "OP+CP") != 0)
                g_error("unknown gates %s", word);
}

static void set_string(char **field, const Row *row, const char *column) {
        const char *value = row_get(row, column);

        if (value)
                *field = copy(value);
}

static RelabelBy relabel_by_from_word(const char *word) {
        int by = relabel_by_from_string(word);

        g_assert_cmpint(by, >=, 0);
        return (RelabelBy) by;
}

static Request request_from_row(const Row *row) {
        const char *fs = row_has(row, "fs") ? row_get(row, "fs") : "ext4";
        Request q = make_request(TARGET_1, "pod-1", fs, row_get(row, "mode"), row_get(row, "policy"),
                                 row_get(row, "level"));

        set_string(&q.volume_type, row, "type");
        set_string(&q.driver, row, "driver");
        set_string(&q.user, row, "user");
        set_string(&q.role, row, "role");
        set_string(&q.type, row, "settype");
        set_string(&q.context, row, "context");
        if (row_get(row, "supported"))
                q.selinux_mount_supported = is_yes(row_get(row, "supported"));
        if (row_get(row, "readonly"))
                q.read_only = is_yes(row_get(row, "readonly"));
        if (row_get(row, "options"))
                q.mount_options = copy_list(row_get(row, "options"));
        if (row_get(row, "by"))
                q.relabel_by = relabel_by_from_word(row_get(row, "by"));
        return q;
}

static void assert_message_helps(int r, const Failure *f) {
        switch (r) {
        case FAILURE_LEVEL_REQUIRED:
                assert_failure(r, f, FAILURE_LEVEL_REQUIRED, "SELinuxLevel", "s0:c10,c20", "RelabelBy=none",
                               "not generated");
                break;
        case FAILURE_CONTEXT_CONFLICT:
                assert_failure(r, f, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME, "pod-1", TARGET_1, "nmount it there",
                               "at the same time", "since 2026-01-02 03:04:05 UTC");
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

/* In the tables "F:LEVEL" is a context with what the policy says of container files; "-" is none. */
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
        /* L3 of go-selinux: the flags are Z, z or none, never both; z, which drops the categories, is never asked
         * for. */
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

/* Kubelet's answer is the label it mounts with, "-" for none, "error" if the pod can't start. */
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
        _cleanup_(settings_done) Settings settings = test_settings(row_get(row, "conf"));
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

/* In the tables from Kubernetes a pod without a policy has MountOption. */
static void test_kubernetes_row(gconstpointer data) {
        test_row_with_default(data, RELABEL_ON_VOLUME_MOUNT);
}

/* --- two pods on one node --- */

/* Remembers what carrying out a plan leaves behind. */
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

        set_string(&q.volume_type, row, "type");
        if (row_get(row, "supported"))
                q.selinux_mount_supported = is_yes(row_get(row, "supported"));
        if (row_get(row, n == 1 ? "by1" : "by2"))
                q.relabel_by = relabel_by_from_word(row_get(row, n == 1 ? "by1" : "by2"));
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
        /* B1 and B3: nothing is staged a second time. */
        g_assert_nonnull(p->share);
        g_assert_cmpstr(p->share->target, ==, TARGET_1);
        if (p->strategy == STRATEGY_CONTEXT_MOUNT) {
                g_assert_cmpint(p->reason, ==, REASON_CONTEXT_SHARED);
                g_assert_cmpstr(p->context, ==, first->context);
        } else
                assert_cell(row, "=reason2", reason_to_string(p->reason));
}

static void assert_conflict(const Plan *p, const Volume *v) {
        g_assert_cmpuint(p->n_conflicts, ==, 1);
        g_assert_cmpstr(p->conflicts[0].volume, ==, TEST_VOLUME);
        g_assert_cmpstr(p->conflicts[0].holder, ==, "pod-1");
        g_assert_cmpstr(p->conflicts[0].target, ==, TARGET_1);
        g_assert_cmpstr(p->conflicts[0].context, ==, v->context);
        g_assert_cmpuint(p->conflicts[0].since_usec, ==, TEST_SINCE_USEC);
}

/* The first pod runs, the second comes; a second that has to wait gets the volume when the first is gone. */
static void test_pair(gconstpointer data) {
        const Row *row = data;
        const char *expected = row_need(row, "=result"), *kubelet = row_get(row, "=kubelet");
        _cleanup_(node_done) Node node = test_node();
        _cleanup_(settings_done) Settings settings = test_settings(NULL);
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
                /* Neither pod gets as far as a conflict. */
                g_assert_cmpstr(row_need(row, "=strategy1"), ==, "LevelRequired");
                g_assert_cmpstr(expected, ==, "LevelRequired");
                g_assert_true(g_str_has_prefix(row_need(row, "note"), "level-required:"));
                return;
        }
        assert_success(r, &f);
        assert_cell(row, "=strategy1", strategy_to_string(plan.strategy));
        v = record(&volumes, &first, &plan);
        observe(&mounts, TARGET_1, "ext4", plan.strategy == STRATEGY_CONTEXT_MOUNT ? plan.context : "");

        /* The record alone must do, and what is seen of the mounts must not change the answer. */
        for (int seen = 0; seen < 2; seen++) {
                _cleanup_(plan_done) Plan p = { 0 };

                failure_done(&f);
                r = validate_and_plan(&node, &settings, &second, &volumes, seen ? &mounts : &nothing, -1, &p, &f);
                g_assert_cmpstr(result_word(r, &f), ==, expected);
                assert_message_helps(r, &f);
                if (r == 0)
                        assert_second_plan(row, &p, &plan, true);
                else if (r == FAILURE_CONTEXT_CONFLICT)
                        assert_conflict(&p, v);
        }

        runs = strcmp(expected, "ok") == 0;
        if (kubelet) {
                g_assert_true(strcmp(kubelet, "runs") == 0 || strcmp(kubelet, "stuck") == 0);
                assert_as_noted(row, runs == (strcmp(kubelet, "runs") == 0));
        }
        if (strcmp(expected, "ContextConflict") != 0)
                return;

        /* B2 and B4 to B6: the first pod is gone, the second is mounted anew. */
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
        _cleanup_(settings_done) Settings settings = test_settings(NULL);
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

/* The proposal of 2015 said never, always or sometimes (that is, while unshared); a type that selvol ships with
 * another answer says why in a note. */
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

/* Every type of the shipped configuration is in the matrix, and the other way round. */
static void test_matrix_is_complete(gconstpointer data) {
        static const char *const types[] = {
                "hostPath",
                "emptyDir",
                "gitRepo",
                "secret",
                "downwardAPI",
                "gcePersistentDisk",
                "awsElasticBlockStore",
                "nfs",
                "iscsi",
                "glusterfs",
                "persistentVolumeClaim",
                "rbd",
                "cinder",
                "cephfs",
                "configMap",
                "projected",
                "local",
                "azureFile",
                "portworx",
                "quobyte",
                "fc",
                "image",
                "csi",
                "flexVolume",
        };
        _cleanup_(settings_done) Settings s = test_settings(NULL);

        g_assert_cmpuint(s.n_volume_types, ==, G_N_ELEMENTS(types));
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                g_assert_nonnull(settings_volume_type(&s, types[i]));
}

/* --- what tables can't say --- */

/* KEP-1710, enabling and disabling the feature. */
static void test_gate_on_off_on(Fixture *x, gconstpointer data) {
        Volume *v;

        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpint(x->plan.reason, ==, REASON_CONTEXT_MOUNT);

        settings_done(&x->settings);
        x->settings = test_settings("[Service];SELinuxRelabelPolicy=no");
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
        g_assert_cmpint(x->plan.reason, ==, REASON_GATE_DISABLED);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "Z");
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
        g_assert_nonnull(strstr(x->plan.text, "SELinuxRelabelPolicy"));

        /* The pod of the off time has come and gone. */
        v = record(&x->volumes, &x->request, &x->plan);
        volume_remove_holder(v, v->holders);

        settings_done(&x->settings);
        x->settings = test_settings("[Service];SELinuxRelabelPolicy=yes");
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpint(x->plan.reason, ==, REASON_CONTEXT_MOUNT);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
}

/* The gate is off, but the pod of the on time still runs: its context mount stays what it is. */
static void test_gate_off_with_holder(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        x->settings.gate_relabel_policy = false;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME, "pod-1",
                       "with context " CONTEXT_0_1, "relabeled to");
}

/* Without the gate there is no policy to observe, hence no level to ask for. */
static void test_gate_off_needs_no_level(Fixture *x, gconstpointer data) {
        x->settings.gate_relabel_policy = false;
        x->request.level = (free(x->request.level), NULL);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
        g_assert_cmpstr(x->plan.context, ==, "");
}

/* Rule 1 comes first: with SELinux off there is no policy, so its files aren't there either. */
static void test_selinux_off_without_policy(Fixture *x, gconstpointer data) {
        node_done(&x->node);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_NONE);
        g_assert_cmpint(x->plan.reason, ==, REASON_SELINUX_DISABLED);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpstr(x->plan.context, ==, "");
}

static void test_policy_without_container_types(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->node.file_context, NULL), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INVALID_CONTEXT, "lxc_contexts", "SELinuxContext");

        x->request.level = (free(x->request.level), NULL);
        x->request.context = copy(CONTEXT_0_1);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
}

static void test_type_not_allowed(Fixture *x, gconstpointer data) {
        x->request.level = (free(x->request.level), NULL);
        x->request.context = copy("system_u:object_r:shadow_t:s0:c0,c1");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_TYPE_NOT_ALLOWED, "shadow_t", "LabelTypes=", "[Worker]");
}

/* A list of allowed types that is empty allows none. */
static void test_no_type_allowed(Fixture *x, gconstpointer data) {
        settings_done(&x->settings);
        x->settings = test_settings("[Worker];LabelTypes=");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_TYPE_NOT_ALLOWED, "container_file_t");
}

/* Canonical comparison: kubelet compares strings and would let the second pod wait for ever. */
static void test_same_context_other_spelling(gconstpointer data) {
        Fixture x = { 0 };

        fixture_set_up(&x, NULL);
        fixture_hold(&x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT,
                     "system_u:object_r:container_file_t:s0:c0.c2");
        g_assert_cmpint(free_and_strdup(&x.request.level, data), ==, 0);
        assert_success(fixture_plan(&x), &x.failure);
        g_assert_cmpint(x.plan.reason, ==, REASON_CONTEXT_SHARED);
        g_assert_nonnull(x.plan.share);
        fixture_tear_down(&x, NULL);
}

/* Rather a mount that can be reached. */
static void test_share_hidden(Fixture *x, gconstpointer data) {
        Holder *one = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1), *two;

        g_assert_cmpint(free_and_strdup(&one->covered_by, "tmpfs"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == one);

        two = fixture_hold(x, TEST_VOLUME, TARGET_3, "pod-3", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == two);
}

static void set_device(Holder *h, const char *device) {
        g_assert_cmpint(free_and_strdup(&h->device, device), ==, 0);
}

static bool needs_mounts(Fixture *x) {
        assert_success(fixture_plan(x), &x->failure);
        return plan_needs_mounts(&x->plan, &x->volumes, TEST_VOLUME);
}

/* Where a file system is mounted besides doesn't matter to one more mount of what a holder has. */
static void test_needs_mounts(Fixture *x, gconstpointer data) {
        Holder *h;

        g_assert_true(needs_mounts(x));

        h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        g_assert_true(needs_mounts(x));
        set_device(h, "8:17");
        g_assert_false(needs_mounts(x));

        /* Files are going to be changed, or somebody else has a volume on the same disk. */
        x->request.fs_group = 1000;
        g_assert_true(needs_mounts(x));
        x->request.fs_group = GID_NONE;
        g_assert_false(needs_mounts(x));
        /* All holders are readers: it matters whether somebody else writes. */
        h->read_only = x->request.read_only = true;
        g_assert_true(needs_mounts(x));
        h->read_only = false;
        g_assert_false(needs_mounts(x));
        x->request.read_only = false;
        h = fixture_hold(x, "other", "/var/lib/kubelet/pods/3/v", "pod-3", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        set_device(h, "8:18");
        g_assert_false(needs_mounts(x));
        set_device(h, "8:17");
        g_assert_true(needs_mounts(x));
}

/* A copy of selvol's own mount that a container has kept is shared for the same use; what others hide is not. */
static void test_hidden(Fixture *x, gconstpointer data) {
        Holder *h;
        Volume *v;

        x->observed.hidden = true;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_BUSY, TEST_VOLUME, "lsblk", "mountinfo");

        h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        v = h->volume;
        volume_remove_holder(v, h);
        v->strategy = STRATEGY_CONTEXT_MOUNT;
        g_assert_cmpint(free_and_strdup(&v->context, CONTEXT_0_1), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_BUSY, TEST_VOLUME);
        v->mounted_this_boot = true;
        assert_success(fixture_plan(x), &x->failure);

        /* Its files have one group. */
        x->request.fs_group = 1000;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_BUSY, TEST_VOLUME);
        v->mark.ownership_state = FILES_COMPLETE;
        v->mark.gid = 1000;
        assert_success(fixture_plan(x), &x->failure);
        x->request.fs_group = GID_NONE;

        g_assert_cmpint(free_and_strdup(&v->context, CONTEXT_0_2), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, CONTEXT_0_2, "mountinfo");

        /* Whom nobody sees may relabel files. */
        v->strategy = STRATEGY_RELABEL;
        g_assert_cmpint(free_and_strdup(&v->context, CONTEXT_0_1), ==, 0);
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        x->request.policy = RELABEL_ON_VOLUME_MOUNT;
        v->strategy = STRATEGY_NONE;
        g_assert_cmpint(free_and_strdup(&v->context, ""), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME);
}

static void test_needs_mounts_relabel(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_1);

        set_device(h, "8:17");
        x->request.policy = RELABEL_ALWAYS;
        g_assert_true(needs_mounts(x));
}

static void test_conflict_names_all(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        fixture_hold(x, TEST_VOLUME, "/var/lib/kubelet/pods/3/v", "pod-3", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "and 1 more");
        fixture_hold(x, TEST_VOLUME, "/var/lib/kubelet/pods/4/v", "pod-4", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);

        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1", TARGET_1, CONTEXT_0_1,
                       CONTEXT_0_2, "and 2 more", "since 2026-01-02 03:04:05 UTC", "WaitUSec");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 3);
        g_assert_cmpstr(x->plan.conflicts[0].holder, ==, "pod-1");
        g_assert_cmpstr(x->plan.conflicts[1].holder, ==, "pod-3");
        g_assert_cmpstr(x->plan.conflicts[2].holder, ==, "pod-4");
}

/* Another volume id that leads to the same superblock; kubelet doesn't see it, the kernel answers EINVAL. */
static void test_conflict_other_volume(Fixture *x, gconstpointer data) {
        fixture_hold(x, "pvc-other", TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        assert_success(fixture_plan(x), &x->failure);

        observe(&x->observed, TARGET_1, "ext4", CONTEXT_0_2);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "held as volume pvc-other by pod-1",
                       TARGET_1, CONTEXT_0_2, "since 2026-01-02 03:04:05 UTC");
        g_assert_cmpstr(x->plan.conflicts[0].volume, ==, "pvc-other");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
}

/* The other volume has been relabeled, not mounted with a context. */
static void test_conflict_other_volume_relabeled(Fixture *x, gconstpointer data) {
        fixture_hold(x, "pvc-other", TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_2);
        observe(&x->observed, TARGET_1, "ext4", "");
        x->request.policy = RELABEL_ALWAYS;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "relabeled to " CONTEXT_0_1,
                       "with context " CONTEXT_0_2, "held as volume pvc-other by pod-1");
        g_assert_cmpstr(x->plan.conflicts[0].context, ==, CONTEXT_0_2);

        /* The same labels suit both. */
        g_assert_cmpint(free_and_strdup(&x->request.level, "s0:c2,c0"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
}

/* Mounted by an administrator. */
static void test_conflict_strangers_mount(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/backup", "ext4", "");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "/mnt/backup", "not by selvol",
                       "without a context", "Unmount it there first (umount /mnt/backup)");
        g_assert_cmpstr(x->plan.conflicts[0].volume, ==, "");
        g_assert_cmpstr(x->plan.conflicts[0].holder, ==, "");
        g_assert_cmpuint(x->plan.conflicts[0].since_usec, ==, 0);

        /* A mount without a context does not mind being relabeled. */
        x->request.policy = RELABEL_ALWAYS;
        assert_success(fixture_plan(x), &x->failure);
}

static void test_strangers_mount_same_context(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/backup", "ext4", CONTEXT_0_1);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        /* A stranger's mount is never cloned for a pod: what it shows was not verified. */
        g_assert_null(x->plan.share);
}

/* Without a flag and without a context: still impossible on a superblock that has one. */
static void test_conflict_plain_on_context(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/backup", "ext4", CONTEXT_0_2);
        x->request.read_only = true;
        x->request.policy = RELABEL_ALWAYS;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "mounted without a context",
                       "with context " CONTEXT_0_2);
}

static void test_conflict_escapes_target(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/a\nb\033[2J", "ext4", "");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "/mnt/a\\x0ab\\x1b[2J");
}

/* The own mount at the same target is no conflict: the same request again. */
static void test_same_target_is_no_conflict(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_2, "pod-2", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        observe(&x->observed, TARGET_2, "ext4", CONTEXT_0_2);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
        g_assert_cmpint(x->plan.reason, ==, REASON_CONTEXT_MOUNT);
}

/* Only what is mounted can be cloned, but a mount on its way does conflict. */
static void test_holder_that_is_mounting(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        h->state = HOLDER_MOUNTING;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);

        g_assert_cmpint(free_and_strdup(&x->request.level, "s0:c7,c8"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
}

static void test_other_source(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        g_assert_cmpint(free_and_strdup(&x->request.source, "/dev/vdc"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, TEST_VOLUME, "/dev/vdb",
                       "another volume id");
}

static void set_superblocks(Fixture *x, Holder *h, const char *held, const char *found) {
        g_assert_cmpint(free_and_strdup(&h->superblock, held), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->observed.superblock, found), ==, 0);
}

/* The path is the same, but the image there is another one, or the file system on the disk is. */
static void test_other_image(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        set_device(h, "7:0");
        set_superblocks(x, h, "image:8:1:12", "image:8:1:12");
        assert_success(fixture_plan(x), &x->failure);
        set_superblocks(x, h, "image:8:1:12", "image:8:1:13");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, TEST_VOLUME, "/dev/vdb",
                       "was the image with inode 12 on device 8:1 and is the image with inode 13 on device 8:1 now",
                       "'selvolctl show " TEST_VOLUME "'");
        set_superblocks(x, h, "image:8:1:12", "device:8:17");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, "device 8:17 now");
        set_superblocks(x, h, "btrfs:1234-5678", "btrfs:1234-5679");
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, "btrfs 1234-5678", "btrfs 1234-5679");
        /* Of a holder that was recorded by an earlier version it is not known, of a server it says nothing. */
        set_superblocks(x, h, "", "image:8:1:13");
        assert_success(fixture_plan(x), &x->failure);
        set_superblocks(x, h, "image:8:1:12", NULL);
        assert_success(fixture_plan(x), &x->failure);
        /* Who asks again is the holder. */
        set_superblocks(x, h, "image:8:1:12", "image:8:1:13");
        g_assert_cmpint(free_and_strdup(&x->request.target, TARGET_1), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
}

/* The path is the same, but a link leads elsewhere now. */
static void test_other_disk(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        g_assert_cmpint(free_and_strdup(&h->device, "254:16"), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->observed.device, "254:16"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(free_and_strdup(&x->observed.device, "254:32"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, TEST_VOLUME, "/dev/vdb", "254:16",
                       "254:32");
        /* The devices of btrfs are its own. */
        g_assert_cmpint(free_and_strdup(&h->device, "0:45"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
}

static void test_other_file_system(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "xfs"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INCOMPATIBLE, "type xfs, not ext4", "FSType");

        x->request.fs_type = (free(x->request.fs_type), NULL);
        assert_success(fixture_plan(x), &x->failure);

        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "ntfs"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_TYPE_NOT_ALLOWED, "ntfs", "[FileSystem ntfs]");
}

/* The options could not be checked before the file system was known. */
static void test_options_of_found_file_system(Fixture *x, gconstpointer data) {
        x->request.fs_type = (free(x->request.fs_type), NULL);
        x->request.mount_options = copy_list("noatime,gid=0");
        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "ext4"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_INVALID_OPTION, "gid=0", "ext4", "MountOptions=");

        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "vfat"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
}

/* What is on the source decides, not what the caller didn't say. */
static void test_found_file_system_foretells(Fixture *x, gconstpointer data) {
        x->request.fs_type = (free(x->request.fs_type), NULL);
        x->request.policy = RELABEL_ALWAYS;
        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "ext4"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);

        g_assert_cmpint(free_and_strdup(&x->observed.fs_type, "vfat"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.reason, ==, REASON_NO_SECLABEL);
}

/* Who changes no labels takes none. */
static void test_reader_beside_relabel(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_2);
        x->request.policy = RELABEL_ALWAYS;
        x->request.read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.reason, ==, REASON_READ_ONLY);
        g_assert_nonnull(x->plan.share);
}

static void test_context_option_once(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->request.fs_type, "nfs"), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->request.source, "server:/export"), ==, 0);
        x->request.mount_options = copy_list("nosharecache,hard");
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 2);
        g_assert_cmpstr(x->plan.mount_options[0], ==, "nosharecache");
        g_assert_cmpstr(x->plan.mount_options[1], ==, "hard");
}

/* --- who relabels, and what that does to the record --- */

/* The second of two holders for whom the service relabels: its labels are those of the first. */
static void test_relabel_here_twice(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_1);

        h->relabeled_here = true;
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        observe(&x->observed, TARGET_1, "ext4", "");
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
        g_assert_true(x->plan.share == h);
        assert_plan_is_consistent(&x->plan);

        /* A runtime relabels for the first one: nobody knows when it has come to its end, nor with which categories.
         */
        h->relabeled_here = false;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        h->read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

/* Labels are not taken from a running holder, whoever relabels. */
static void test_relabel_here_conflict(Fixture *x, gconstpointer data) {
        for (int relabeled_here = 0; relabeled_here < 2; relabeled_here++)
                for (RelabelBy by = RELABEL_BY_RUNTIME; by <= RELABEL_BY_SERVICE; by++) {
                        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_2);
                        Volume *v = volumes_find(&x->volumes, TEST_VOLUME);

                        h->relabeled_here = relabeled_here;
                        x->request.policy = RELABEL_ALWAYS;
                        x->request.relabel_by = by;
                        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1",
                                       "relabeled to " CONTEXT_0_1, "with context " CONTEXT_0_2);

                        /* Nor may the runtime choose a context where others rely on one. */
                        g_assert_cmpint(free_and_strdup(&x->request.level, NULL), ==, 0);
                        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1",
                                       "by the container runtime", "with context " CONTEXT_0_2, "Without a level",
                                       "pass SELinuxLevel", "RelabelBy=none");
                        g_assert_cmpint(free_and_strdup(&x->request.level, "s0:c0,c1"), ==, 0);
                        volume_remove_holder(v, h);
                }
}

/* Who relies on no labels takes none, and none are taken from: RelabelBy=none, whatever others rely on. */
static void test_not_relabeled_beside(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_3, "pod-3", STRATEGY_NONE, "");
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_2);
        x->request.policy = RELABEL_ALWAYS;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "held by pod-1");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);

        x->request.relabel_by = RELABEL_BY_NONE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.reason, ==, REASON_NOT_RELABELED);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);

        x->request.relabel_by = RELABEL_BY_RUNTIME;
        volume_remove_holder(volumes_find(&x->volumes, TEST_VOLUME),
                             volume_find_holder(volumes_find(&x->volumes, TEST_VOLUME), TARGET_1));
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
}

/* The first one came without a level and without RelabelBy=none. */
static void test_conflict_unknown_labels(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, "");
        x->request.policy = RELABEL_ALWAYS;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "relabeled to " CONTEXT_0_1,
                       "with labels that a runtime chose, held by pod-1", "without a level",
                       "(selvolctl unmount " TARGET_1 ")", "SELinuxLevel", "RelabelBy=none");

        /* What stands in the way of a context mount is not helped by a level. */
        x->request.policy = RELABEL_ON_VOLUME_MOUNT;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "with labels that a runtime chose",
                       "Unmount it there first (selvolctl unmount " TARGET_1
                       "), pass WaitUSec to wait for that, or ask for the same context and policy");
}

/* AdoptVolume has no such option. */
static void test_conflict_of_adoption(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        fixture_mounted(x, CONTEXT_0_1, false);
        g_assert_cmpint(fixture_adopt(x), ==, FAILURE_CONTEXT_CONFLICT);
        g_assert_nonnull(strstr(x->failure.message, "Unmount it there first"));
        g_assert_null(strstr(x->failure.message, "WaitUSec"));
}

/* A context mount is in the way of all who have no use for it. */
static void test_not_relabeled_on_context_mount(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_NONE;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "mounted without a context", "pod-1");
}

/* A holder's own context counts; of one that was recorded without, the volume's. */
static void test_conflict_context_of_holder(Fixture *x, gconstpointer data) {
        static const struct {
                const char *holder, *volume;
                bool conflicts;
        } cases[] = {
                { CONTEXT_0_1, CONTEXT_0_2, false }, { CONTEXT_0_2, CONTEXT_0_1, true }, { NULL, CONTEXT_0_1, false },
                { NULL, CONTEXT_0_2, true },         { "", CONTEXT_0_1, true }, /* the runtime chose one */
        };
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_1);
        Volume *v = volumes_find(&x->volumes, TEST_VOLUME);

        x->request.policy = RELABEL_ALWAYS;
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_assert_cmpint(free_and_strdup(&h->context, cases[i].holder), ==, 0);
                g_assert_cmpint(free_and_strdup(&v->context, cases[i].volume), ==, 0);
                if (!cases[i].conflicts) {
                        assert_success(fixture_plan(x), &x->failure);
                        continue;
                }
                assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
                g_assert_cmpstr(x->plan.conflicts[0].context, ==, cases[i].holder ? cases[i].holder : v->context);
        }
}

static void test_relabel_here_on_context_mount(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
}

/* Somebody whose labels nobody manages writes to the volume meanwhile. */
static void test_change_of_unmanaged_holder(Fixture *x, gconstpointer data) {
        Holder *h = fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_NONE, "");

        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        h->read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

/* What is at the target already is to be replaced by this plan, and does not count besides. */
static void test_change_of_same_target(Fixture *x, gconstpointer data) {
        fixture_hold(x, TEST_VOLUME, TARGET_2, "pod-2", STRATEGY_NONE, "");
        observe(&x->observed, TARGET_2, "ext4", "");
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

/* The same through another volume id on the same file system. */
static void test_change_of_other_volume(Fixture *x, gconstpointer data) {
        fixture_hold(x, "pvc-other", TARGET_1, "pod-1", STRATEGY_NONE, "");
        observe(&x->observed, TARGET_1, "ext4", "");
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
}

/* A reader of what somebody else has mounted with a context for writing. */
static void test_change_of_strangers_mount(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/staging", "ext4", CONTEXT_0_1);
        x->request.read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_TAINT);
        x->observed.mounts[0].read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

/* Files are made and moved there as well, with labels of their own. */
static void test_change_of_strangers_plain_mount(Fixture *x, gconstpointer data) {
        observe(&x->observed, "/mnt/backup", "ext4", "");
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        x->request.read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        x->observed.mounts[0].read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

/* A driver mounts a volume twice: where it stages it, and for the pod. */
static void test_change_of_staging(Fixture *x, gconstpointer data) {
        fixture_mounted(x, "", true);
        observe(&x->observed, "/var/lib/kubelet/plugins/kubernetes.io/csi/d/1/globalmount", "ext4", "");
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

static void test_adopt(Fixture *x, gconstpointer data) {
        fixture_mounted(x, CONTEXT_0_1, false);
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_true(x->plan.change == MARK_TAINT);

        /* What is mounted counts, also for a caller who doesn't know the context or asks for a relabel. */
        x->request.level = (free(x->request.level), NULL);
        x->request.policy = RELABEL_ALWAYS;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);

        x->observed.mounts[0].read_only = true;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_false(x->plan.change == MARK_TAINT);
}

static void test_adopt_relabel_here(Fixture *x, gconstpointer data) {
        fixture_mounted(x, "", true);
        x->request.policy = RELABEL_ALWAYS;
        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);

        /* What is mounted with a context is not relabeled by anybody. */
        g_assert_cmpint(free_and_strdup(&x->observed.mounts[0].context, CONTEXT_0_1), ==, 0);
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_false(x->plan.relabel_here);
        g_assert_cmpint(x->plan.change, ==, MARK_TAINT);
}

/* longhorn#12318, ceph-csi#2295: the driver was given the option and dropped it. */
static void test_adopt_dropped(Fixture *x, gconstpointer data) {
        fixture_mounted(x, "", true);
        assert_failure(fixture_adopt(x), &x->failure, FAILURE_CONTEXT_DROPPED, TEST_VOLUME, CONTEXT_0_1, "dropped");

        x->request.policy = RELABEL_ALWAYS;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "Z");

        x->observed.mounts[0].seclabel = false;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.reason, ==, REASON_NO_SECLABEL);
}

static void test_adopt_mismatch(Fixture *x, gconstpointer data) {
        fixture_mounted(x, CONTEXT_0_2, false);
        assert_failure(fixture_adopt(x), &x->failure, FAILURE_LABEL_MISMATCH, TEST_VOLUME, CONTEXT_0_1, CONTEXT_0_2,
                       "unmount it");
}

/* With SELinux off the kernel shows the option of old, but it means nothing. */
static void test_adopt_selinux_off(Fixture *x, gconstpointer data) {
        fixture_mounted(x, CONTEXT_0_2, false);
        node_done(&x->node);
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_NONE);
        g_assert_cmpint(x->plan.reason, ==, REASON_SELINUX_DISABLED);
        g_assert_cmpint(x->plan.change, ==, MARK_TAINT);
}

/* The mount to be adopted stands in the way of nobody, but others may stand in its way. */
static void test_adopt_conflict(Fixture *x, gconstpointer data) {
        fixture_mounted(x, CONTEXT_0_1, false);
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_1);
        assert_failure(fixture_adopt(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1", TARGET_1);
}

static void test_read_only_device(Fixture *x, gconstpointer data) {
        x->observed.device_read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_true(x->plan.read_only);
        g_assert_false(x->plan.change == MARK_TAINT);

        x->request.policy = RELABEL_ALWAYS;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_NONE);
        g_assert_cmpint(x->plan.reason, ==, REASON_READ_ONLY);
}

static void test_estimate(Fixture *x, gconstpointer data) {
        Volume *v = volume_new(TEST_VOLUME);

        g_assert_nonnull(v);
        v->inodes_used = 300000;
        g_assert_cmpint(volumes_add(&x->volumes, v), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpuint(x->plan.entries, ==, 0);
        g_assert_cmpuint(x->plan.usec, ==, 0);

        x->request.policy = RELABEL_ALWAYS;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpuint(x->plan.entries, ==, 300000);
        g_assert_cmpuint(x->plan.usec, ==, 2 * G_USEC_PER_SEC);

        x->request.relabel_by = RELABEL_BY_SERVICE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpuint(x->plan.entries, ==, 300000);
        g_assert_cmpuint(x->plan.usec, ==, 2 * G_USEC_PER_SEC);
}

/* Equal input, equal plan; and the input stays as it was. */
static void test_pure(Fixture *x, gconstpointer data) {
        _cleanup_free_ char *spec = NULL, *again = NULL, *text = NULL;

        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2);
        g_assert_cmpint(fixture_plan(x), ==, FAILURE_CONTEXT_CONFLICT);
        text = copy(x->failure.message);
        spec = request_spec(&x->request);
        g_assert_cmpint(fixture_plan(x), ==, FAILURE_CONTEXT_CONFLICT);
        again = request_spec(&x->request);
        g_assert_cmpstr(x->failure.message, ==, text);
        g_assert_cmpstr(spec, ==, again);
        g_assert_cmpuint(volume_count_holders(volumes_find(&x->volumes, TEST_VOLUME)), ==, 1);
}

static void test_reasons(void) {
        for (int i = 0; i < REASONS; i++) {
                const char *word = reason_to_string((Reason) i);

                g_assert_nonnull(word);
                g_assert_cmpint(reason_from_string(word), ==, i);
        }
        g_assert_null(reason_to_string(REASONS));
        g_assert_cmpint(reason_from_string("because"), ==, -EINVAL);
}

static void add_matrix(void) {
        Table *matrix = table_load("volume-types.table", matrix_columns);

        table_add_tests(matrix, "/plan/types/always", test_matrix_always);
        table_add_tests(matrix, "/plan/types/on-volume-mount", test_matrix_on_volume_mount);
        g_test_add_data_func("/plan/types/complete", NULL, test_matrix_is_complete);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        table_add_tests(table_load("kep-1710.table", plan_columns), "/plan/kep", test_row);
        table_add_tests(table_load("overrides.table", plan_columns), "/plan/overrides", test_row);
        table_add_tests(table_load("relabel-by.table", plan_columns), "/plan/relabel-by", test_row);
        table_add_tests(table_load("kubernetes-one-pod.table", plan_columns), "/plan/kubernetes",
                        test_kubernetes_row);
        table_add_tests(table_load("kubernetes-two-pods.table", pair_columns), "/plan/kubernetes", test_pair);
        add_matrix();

#define ADD(name, function) g_test_add("/plan/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)
        ADD("gate/on-off-on", test_gate_on_off_on);
        ADD("gate/off-with-holder", test_gate_off_with_holder);
        ADD("gate/off-needs-no-level", test_gate_off_needs_no_level);
        ADD("selinux-off-without-policy", test_selinux_off_without_policy);
        ADD("policy-without-container-types", test_policy_without_container_types);
        ADD("type-not-allowed", test_type_not_allowed);
        ADD("no-type-allowed", test_no_type_allowed);
        g_test_add_data_func("/plan/canonical/order", "s0:c2,c1,c0", test_same_context_other_spelling);
        g_test_add_data_func("/plan/canonical/range", "s0:c0.c2", test_same_context_other_spelling);
        g_test_add_data_func("/plan/canonical/repeated", "s0:c0,c1,c1,c2", test_same_context_other_spelling);
        g_test_add_data_func("/plan/canonical/equal-levels", "s0:c0.c2-s0:c2,c0.c1",
                             test_same_context_other_spelling);
        ADD("conflict/names-all", test_conflict_names_all);
        ADD("share-hidden", test_share_hidden);
        ADD("needs-mounts", test_needs_mounts);
        ADD("hidden", test_hidden);
        ADD("needs-mounts/relabel", test_needs_mounts_relabel);
        ADD("conflict/other-volume", test_conflict_other_volume);
        ADD("conflict/other-volume-relabeled", test_conflict_other_volume_relabeled);
        ADD("conflict/strangers-mount", test_conflict_strangers_mount);
        ADD("conflict/strangers-mount-same-context", test_strangers_mount_same_context);
        ADD("conflict/plain-on-context", test_conflict_plain_on_context);
        ADD("conflict/escapes-target", test_conflict_escapes_target);
        ADD("conflict/same-target", test_same_target_is_no_conflict);
        ADD("conflict/mounting", test_holder_that_is_mounting);
        ADD("relabel-here/twice", test_relabel_here_twice);
        ADD("relabel-here/conflict", test_relabel_here_conflict);
        ADD("relabel-here/on-context-mount", test_relabel_here_on_context_mount);
        ADD("not-relabeled/beside-relabel", test_not_relabeled_beside);
        ADD("not-relabeled/on-context-mount", test_not_relabeled_on_context_mount);
        ADD("conflict/unknown-labels", test_conflict_unknown_labels);
        ADD("conflict/adoption", test_conflict_of_adoption);
        ADD("conflict/context-of-holder", test_conflict_context_of_holder);
        ADD("change/unmanaged-holder", test_change_of_unmanaged_holder);
        ADD("change/same-target", test_change_of_same_target);
        ADD("change/other-volume", test_change_of_other_volume);
        ADD("change/strangers-mount", test_change_of_strangers_mount);
        ADD("change/strangers-plain-mount", test_change_of_strangers_plain_mount);
        ADD("change/staging", test_change_of_staging);
        ADD("other-source", test_other_source);
        ADD("other-disk", test_other_disk);
        ADD("other-image", test_other_image);
        ADD("other-file-system", test_other_file_system);
        ADD("options-of-found-file-system", test_options_of_found_file_system);
        ADD("adopt/context", test_adopt);
        ADD("adopt/relabel-here", test_adopt_relabel_here);
        ADD("adopt/dropped", test_adopt_dropped);
        ADD("adopt/mismatch", test_adopt_mismatch);
        ADD("adopt/selinux-off", test_adopt_selinux_off);
        ADD("adopt/conflict", test_adopt_conflict);
        ADD("found-file-system-foretells", test_found_file_system_foretells);
        ADD("reader-beside-relabel", test_reader_beside_relabel);
        ADD("context-option-once", test_context_option_once);
        ADD("read-only-device", test_read_only_device);
        ADD("estimate", test_estimate);
        ADD("pure", test_pure);
        g_test_add_func("/plan/reasons", test_reasons);
        return g_test_run();
}

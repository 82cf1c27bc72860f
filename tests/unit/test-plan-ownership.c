/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan-group.h"

#include "plan-rows.h"

/* The plan of a mount tells who gives the files to a group, unless another holder is in the way. */

static const char plan_columns[] =
        "id conf driver type fs found mode policy ro group options =result =action =reason "
        "=options =says =kubelet note";
static const char update_columns[] = "id before after =first =second =kubelet note";

enum { WANTED = 3000, OTHER = 2000 };

static int policy_from_cell(const char *cell) {
        int policy = cell ? fs_group_policy_from_string(cell) : -1;

        g_assert_true(!cell || policy >= 0);
        return policy;
}

static void set_up_row(Fixture *x, const Row *row) {
        const char *ro = row_get(row, "ro");

        x->node = test_node();
        x->settings = test_settings(row_get(row, "conf"));
        x->request = make_request(TARGET_2, "pod-2", row_get(row, "fs"), row_need(row, "mode"), "OnVolumeMount",
                                  "s0:c0,c1");
        if (!row_get(row, "fs"))
                x->request.source = copy("/dev/vdb");
        request_take_cells(&x->request, row, "driver type options group");
        if (row_get(row, "found"))
                x->observed.fs_type = copy(row_need(row, "found"));
        x->request.fs_group_policy = policy_from_cell(row_get(row, "policy"));
        g_assert_true(!ro || streq(ro, "request") || streq(ro, "option") || streq(ro, "device"));
        x->request.read_only = ro && streq(ro, "request");
        x->observed.device_read_only = ro && streq(ro, "device");
        if (ro && streq(ro, "option"))
                g_assert_cmpint(strv_extend(&x->request.mount_options, "ro"), ==, 0);
}

static void assert_plan_is_consistent(const Plan *p, gid_t wanted) {
        const char *text = ownership_reason_text(p->ownership_reason);

        /* The plan does not depend on the files. */
        g_assert_true(p->ownership != OWNERSHIP_SKIP && p->ownership_reason != OWNERSHIP_COMPLETE);
        g_assert_cmpuint(p->fs_group, ==, p->ownership == OWNERSHIP_NONE ? GID_NONE : wanted);
        g_assert_cmpint(p->ownership_reason == OWNERSHIP_NOT_ASKED, ==, wanted == GID_NONE);
        g_assert_cmpint(p->ownership == OWNERSHIP_OPTION, ==, p->ownership_reason == OWNERSHIP_POLICY_MOUNT);
        g_assert_cmpint(p->ownership == OWNERSHIP_WALK, ==, p->ownership_reason == OWNERSHIP_UNKNOWN);
        g_assert_cmpint(p->ownership == OWNERSHIP_MAP, ==, p->ownership_reason == OWNERSHIP_READ_ONLY);
        /* A read-only mount is not written to, and its users need not write. */
        g_assert_true(p->ownership != OWNERSHIP_WALK || !p->read_only);
        g_assert_true(p->ownership != OWNERSHIP_MAP || p->read_only);
        g_assert_true(p->readers || !p->read_only);
        g_assert_true(wanted == GID_NONE || g_str_has_suffix(text, "."));
        g_assert_cmpuint(p->n_conflicts, ==, 0);
}

/* The plan for the label is the same without a group. */
static void assert_label_is_left_alone(Fixture *x, const char *options) {
        _cleanup_(plan_done) Plan with = x->plan;
        gid_t group = x->request.fs_group;
        _cleanup_free_ char *now = NULL;

        x->plan = (Plan){ 0 };
        x->request.fs_group = GID_NONE;
        assert_success(fixture_plan(x), &x->failure);
        x->request.fs_group = group;
        g_assert_cmpint(x->plan.strategy, ==, with.strategy);
        g_assert_cmpint(x->plan.reason, ==, with.reason);
        g_assert_cmpstr(x->plan.context, ==, with.context);
        g_assert_cmpstr(x->plan.text, ==, with.text);
        g_assert_cmpint(x->plan.change, ==, with.change);
        g_assert_cmpint(x->plan.read_only, ==, with.read_only);
        now = strv_join(x->plan.mount_options, ",");
        if (with.ownership != OWNERSHIP_OPTION)
                g_assert_cmpstr(now, ==, options);
}

/* kubelet changes the files, passes the group to the driver, or does nothing; it never maps. */
static const char *kubelets_word(OwnershipAction action) {
        static const char *const words[OWNERSHIP_ACTIONS] = { [OWNERSHIP_NONE] = "no",
                                                              [OWNERSHIP_OPTION] = "mount",
                                                              [OWNERSHIP_MAP] = "map",
                                                              [OWNERSHIP_WALK] = "yes" };

        g_assert_nonnull(words[action]);
        return words[action];
}

static void assert_row(Fixture *x, const Row *row) {
        const char *kubelet = row_get(row, "=kubelet");
        _cleanup_free_ char *options = NULL;
        int r = fixture_plan(x);

        g_assert_cmpstr(result_word(r, &x->failure), ==, row_need(row, "=result"));
        if (r != 0) {
                g_assert_nonnull(strstr(x->failure.message, row_need(row, "=says")));
                return;
        }
        g_assert_cmpstr(ownership_action_to_string(x->plan.ownership), ==, row_need(row, "=action"));
        g_assert_cmpstr(ownership_reason_to_string(x->plan.ownership_reason), ==, row_need(row, "=reason"));
        options = strv_join(x->plan.mount_options, ",");
        g_assert_cmpstr(options, ==, row_need(row, "=options"));
        assert_plan_is_consistent(&x->plan, x->request.fs_group);
        if (kubelet)
                assert_as_noted(row, streq(kubelets_word(x->plan.ownership), kubelet));
        assert_label_is_left_alone(x, options);
}

static void test_row(gconstpointer data) {
        Fixture x = { 0 };

        set_up_row(&x, data);
        assert_row(&x, data);
        fixture_tear_down(&x, NULL);
}

/* --- a policy that changes --- */

/* Either the driver's section or the request has the policy. */
static void set_policy(Fixture *x, bool by_request, const char *policy) {
        if (by_request) {
                x->request.fs_group_policy = policy_from_cell(policy);
                return;
        }
        g_autofree char *conf =
                g_strdup_printf("[Driver d];FSGroupPolicy=%s", policy ? policy : "ReadWriteOnceWithFSType");

        x->settings = test_settings(conf);
}

static void test_update(gconstpointer data) {
        const Row *row = data;

        /* Bit 0: the request has the policy. Bit 1: the first pod has gone. */
        for (int i = 0; i < 4; i++) {
                Fixture x = { 0 };
                Holder *h;

                fixture_set_up(&x, NULL);
                x.request.fs_group = WANTED;
                x.request.driver = copy("d");
                set_policy(&x, i & 1, row_get(row, "before"));
                assert_success(fixture_plan(&x), &x.failure);
                g_assert_cmpstr(ownership_action_to_string(x.plan.ownership), ==, row_need(row, "=first"));

                h = fixture_hold(&x, TEST_VOLUME, TARGET_1, "pod-1", x.plan.strategy, x.plan.context);
                h->fs_group = h->disk_gid = x.plan.fs_group;
                if (i & 2)
                        volume_remove_holder(volumes_find(&x.volumes, TEST_VOLUME), h);
                set_policy(&x, i & 1, row_get(row, "after"));
                assert_success(fixture_plan(&x), &x.failure);
                g_assert_cmpstr(ownership_action_to_string(x.plan.ownership), ==, row_need(row, "=second"));
                g_assert_true(x.plan.share == (i & 2 ? NULL : h));
                assert_plan_is_consistent(&x.plan, WANTED);
                assert_as_noted(row, streq(kubelets_word(x.plan.ownership), row_need(row, "=kubelet")));
                fixture_tear_down(&x, NULL);
        }
}

/* --- others who have the volume --- */

static void set_up(Fixture *x, gconstpointer data) {
        fixture_set_up(x, NULL);
        x->request.fs_group = WANTED;
        x->request.fs_group_policy = FS_GROUP_FILE;
}

static void test_others(gconstpointer data) {
        Fixture x = { 0 };

        set_up(&x, NULL);
        plan_row_check(&x, data);
        fixture_tear_down(&x, NULL);
}

static void use(Fixture *x, const char *fs_type, const char *source) {
        g_assert_cmpint(free_and_strdup(&x->request.fs_type, fs_type), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->request.source, source), ==, 0);
}

/* The holder has the context of the fixture, so that labels are in nobody's way. */
static Holder *hold_volume(Fixture *x, const char *volume, const char *target, const char *name, gid_t shown,
                           gid_t on_disk) {
        Holder *h = fixture_hold(x, volume, target, name, STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        h->fs_group = shown;
        h->disk_gid = on_disk;
        return h;
}

static Holder *hold(Fixture *x, const char *target, const char *name, gid_t shown, gid_t on_disk) {
        return hold_volume(x, TEST_VOLUME, target, name, shown, on_disk);
}

static void release_all(Fixture *x) {
        Volume *v = volumes_find(&x->volumes, TEST_VOLUME);

        while (v->holders)
                volume_remove_holder(v, v->holders);
}

static void assert_conflict(const Plan *p) {
        g_assert_null(p->share);
        assert_conflict_with_pod_1(p, CONTEXT_0_1);
}

/* kubelet itself writes the files of volumes of some types, and pods may only read these. */
static void test_readers(Fixture *x, gconstpointer data) {
        static const struct {
                const char *type;
                bool readers;
        } types[] = {
                { "secret", true },      { "configMap", true },
                { "downwardAPI", true }, { "projected", true },
                { "emptyDir", false },   { "csi", false },
                { "local", false },      { "persistentVolumeClaim", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                for (int read_only = 0; read_only < 2; read_only++) {
                        g_assert_cmpint(free_and_strdup(&x->request.volume_type, types[i].type), ==, 0);
                        x->request.read_only = read_only;
                        assert_success(fixture_plan(x), &x->failure);
                        assert_plan_is_consistent(&x->plan, WANTED);
                        g_assert_cmpint(x->plan.ownership, ==, read_only ? OWNERSHIP_MAP : OWNERSHIP_WALK);
                        g_assert_cmpint(x->plan.readers, ==, types[i].readers || read_only);
                }

        x->settings = test_settings("[VolumeType secret];FSGroupReadsOnly=no;[VolumeType csi];FSGroupReadsOnly=yes");
        x->request.read_only = false;
        for (int csi = 0; csi < 2; csi++) {
                g_assert_cmpint(free_and_strdup(&x->request.volume_type, csi ? "csi" : "secret"), ==, 0);
                assert_success(fixture_plan(x), &x->failure);
                g_assert_cmpint(x->plan.readers, ==, csi);
        }
}

/* --- mounts that are cloned --- */

/* A mount that shows groups as they are serves everybody. */
static void test_share_plain(Fixture *x, gconstpointer data) {
        static const gid_t groups[] = { GID_NONE, WANTED, OTHER, 0 };
        Holder *mapped = hold(x, TARGET_1, "pod-1", WANTED, OTHER),
               *plain = hold(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);

        for (int order = 0; order < 2; order++) {
                for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
                        for (int asked = 0; asked < 3; asked++) {
                                plain->fs_group = plain->disk_gid = groups[i];
                                x->request.fs_group = asked == 0 ? GID_NONE : WANTED;
                                x->request.user_namespace = asked == 2;
                                assert_success(fixture_plan(x), &x->failure);
                                g_assert_true(x->plan.share == plain);
                        }
                if (order == 0) {
                        release_all(x);
                        plain = hold(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);
                        mapped = hold(x, TARGET_1, "pod-1", WANTED, OTHER);
                }
        }

        plain->state = HOLDER_UNMOUNTING;
        x->request.user_namespace = false;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == mapped);
}

/* These requests can't use a mount that is mapped already: a runtime can map a mount only once, and a request
 * that asks for no change of the group wants the files as they are. */
typedef struct Stranger {
        const char *name;
        gid_t shown, on_disk;
        gid_t wanted;
        FSGroupPolicy policy;
        bool read_only, user_namespace;
} Stranger;

static const Stranger strangers[] = {
        { "other-group", OTHER, 4000, WANTED, FS_GROUP_FILE },
        /* The mount shows another group instead of the wanted one. */
        { "taken-away", OTHER, WANTED, WANTED, FS_GROUP_FILE },
        { "user-namespace", WANTED, OTHER, WANTED, FS_GROUP_FILE, .user_namespace = true },
        { "not-asked", WANTED, OTHER, GID_NONE, FS_GROUP_FILE },
        { "policy-none", WANTED, OTHER, WANTED, FS_GROUP_NONE },
        { "reader", OTHER, 4000, WANTED, FS_GROUP_FILE, .read_only = true },
        { "reader-user-namespace", WANTED, OTHER, WANTED, FS_GROUP_FILE, .read_only = true, .user_namespace = true },
};

static void assert_not_shared(Fixture *x) {
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 0);
}

static void test_share_refused(Fixture *x, gconstpointer data) {
        const Stranger *s = data;
        Holder *h = hold(x, TARGET_1, "pod-1", s->shown, s->on_disk);

        x->request.fs_group = s->wanted;
        x->request.fs_group_policy = (int) s->policy;
        x->request.read_only = s->read_only;
        x->request.user_namespace = s->user_namespace;

        /* selvold can mount a disk once more. */
        assert_not_shared(x);

        use(x, "tmpfs", NULL);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, "in use by pod-1 with",
                       TEST_SINCE, ".\nStop pod-1, wait for it with \"WaitUSec\", or use its group.");
        g_assert_null(strstr(x->failure.message, "4294967295"));
        assert_conflict(&x->plan);

        use(x, "nfs", "server:/export");
        g_assert_cmpint(free_and_strdup(&h->volume->source, "server:/export"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "pod-1");

        /* selvold does not know the type of the file system yet. */
        use(x, NULL, NULL);
        assert_not_shared(x);
        use(x, "tmpfs", NULL);

        /* The mount that this plan replaces is in nobody's way. */
        g_assert_cmpint(free_and_strdup(&h->target, TARGET_2), ==, 0);
        assert_not_shared(x);
        g_assert_cmpint(x->plan.ownership, ==,
                        s->wanted == GID_NONE || s->policy == FS_GROUP_NONE ? OWNERSHIP_NONE
                        : s->read_only                                      ? OWNERSHIP_MAP
                                                                            : OWNERSHIP_WALK);
}

/* --- the file system's own option --- */

static void test_option_conflict(Fixture *x, gconstpointer data) {
        static const struct {
                gid_t shown, on_disk;
        } conflicts[] = { { OTHER, OTHER }, { GID_NONE, GID_NONE }, { 0, 0 }, { OTHER, WANTED }, { WANTED, OTHER } };
        Holder *h;

        use(x, "vfat", "/dev/vdb");
        x->request.fs_group_policy = FS_GROUP_MOUNT;
        h = hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        for (size_t i = 0; i < G_N_ELEMENTS(conflicts); i++)
                for (HolderState state = 0; state < HOLDER_STATES; state++) {
                        h->state = state;
                        h->fs_group = conflicts[i].shown;
                        h->disk_gid = conflicts[i].on_disk;
                        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME,
                                       "asked for group 3000", "pod-1", TEST_SINCE);
                        assert_conflict(&x->plan);
                }
}

/* --- holders who rely on the group on disk --- */

static void test_check_own(Fixture *x, gconstpointer data) {
        static const struct {
                gid_t shown, on_disk;
                bool conflicts;
        } cases[] = {
                { WANTED, WANTED, false },
                { OTHER, WANTED, false },      /* the holder relies on the wanted group */
                { GID_NONE, GID_NONE, false }, /* the holder relies on no group */
                { OTHER, OTHER, true },
                { WANTED, OTHER, true }, /* the mount would show another group afterwards */
                { 0, 0, true },
                { WANTED, 0, true },
                { OTHER, WANTED + 1, true },
        };
        Holder *h;
        int r;

        h = hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                for (HolderState state = 0; state < HOLDER_STATES; state++)
                        for (int read_only = 0; read_only < 2; read_only++) {
                                h->fs_group = cases[i].shown;
                                h->disk_gid = cases[i].on_disk;
                                h->state = state;
                                h->read_only = read_only;
                                r = plan_check_reliances(x, WANTED);
                                if (!cases[i].conflicts) {
                                        assert_success(r, &x->failure);
                                        continue;
                                }
                                assert_failure(r, &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME,
                                               "in use by pod-1 with group", TEST_SINCE, "asked for group 3000.",
                                               "Stop pod-1, or use its group.");
                                g_assert_null(strstr(x->failure.message, "more"));
                        }
}

static void assert_reliance(const Reliance *one, gid_t gid, const char *root, const char *use, const char *end) {
        g_assert_cmpuint(one->gid, ==, gid);
        g_assert_cmpstr(one->root, ==, root);
        g_assert_cmpstr(one->use, ==, use);
        g_assert_cmpstr(one->end, ==, end);
}

/* A reliance is about the group on disk, not about the shown group. Reliances have the order of their
 * holders. */
static void test_reliances(Fixture *x, gconstpointer data) {
        Reliance *list = NULL;
        size_t n = 0;

        hold(x, TARGET_1, "pod-1", OTHER, 4000);
        /* The target is the caller's own, pod-5 relies on no group, and pod-6 has another superblock. */
        hold(x, TARGET_2, "pod-2", OTHER, OTHER);
        hold(x, "/var/lib/kubelet/pods/5/v", "pod-5", GID_NONE, GID_NONE);
        hold_volume(x, "pvc-elsewhere", "/var/lib/kubelet/e", "pod-6", OTHER, OTHER);
        hold_volume(x, "pvc-other", TARGET_3, "pod-3", 0, 0);
        hold_volume(x, "pvc-other", "/var/lib/kubelet/pods/4/v", "pod-4", OTHER, OTHER);
        observe(&x->observed, "/mnt/backup", "ext4", "");
        observe(&x->observed, TARGET_1, "ext4", "");
        observe(&x->observed, TARGET_2, "ext4", "");
        observe(&x->observed, TARGET_3, "ext4", "")->root = copy("/a");
        observe(&x->observed, "/var/lib/kubelet/pods/4/v", "ext4", "")->root = copy("");

        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        g_assert_cmpuint(n, ==, 3);
        assert_reliance(&list[0], 4000, NULL, "pod-1 with group 4000 " TEST_SINCE, "Stop pod-1");
        assert_reliance(&list[1], 0, "/a", "pod-3 (as volume pvc-other) with group 0 " TEST_SINCE, "Stop pod-3");
        assert_reliance(&list[2], OTHER, NULL, "pod-4 (as volume pvc-other) with group 2000 " TEST_SINCE,
                        "Stop pod-4");
        reliances_free(list, n);
}

static void test_no_reliances(Fixture *x, gconstpointer data) {
        Reliance *list = NULL;
        size_t n = 1;

        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        g_assert_null(list);
        g_assert_cmpuint(n, ==, 0);
}

void add_tests(void) {
        table_add_tests(table_load("ownership-plan.table", plan_columns), "/plan-ownership/plan", test_row);
        table_add_tests(table_load("ownership-updates.table", update_columns), "/plan-ownership/update", test_update);

        table_add_tests(table_load("plan-groups.table", PLAN_ROW_COLUMNS), "/plan-ownership", test_others);

#define ADD(name, function) g_test_add("/plan-ownership/" name, Fixture, NULL, set_up, function, fixture_tear_down)
        ADD("readers", test_readers);
        ADD("share/plain", test_share_plain);
        add_fixture_rows("/plan-ownership/share", Fixture, strangers, set_up, test_share_refused, fixture_tear_down);
        ADD("option/conflict", test_option_conflict);
        ADD("check/own", test_check_own);
        ADD("reliances/some", test_reliances);
        ADD("reliances/none", test_no_reliances);
}

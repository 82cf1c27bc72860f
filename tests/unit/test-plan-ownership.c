/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "plan-fixture.h"

/* Who gives a volume's files to a group, and who stands in the way. */

static const char plan_columns[] =
        "id conf driver type fs found mode policy ro group options =result =action =reason "
        "=options =says =kubelet note";
static const char update_columns[] = "id before after =first =second =kubelet note";

#define TARGET_3 "/var/lib/kubelet/pods/3/volumes/v/mount"
#define SINCE    "since 2026-01-02 03:04:05 UTC"

enum { WANTED = 3000, OTHER = 2000 };

static int policy_from_cell(const char *cell) {
        int policy = cell ? fs_group_policy_from_string(cell) : -1;

        g_assert_true(!cell || policy >= 0);
        return policy;
}

static gid_t group_from_cell(const char *cell) {
        guint64 gid;

        if (!cell)
                return GID_NONE;
        g_assert_true(g_ascii_string_to_unsigned(cell, 10, 0, GID_NONE - 1, &gid, NULL));
        return (gid_t) gid;
}

static void take_cell(char **field, const Row *row, const char *column) {
        g_assert_cmpint(free_and_strdup(field, row_get(row, column)), ==, 0);
}

static void set_up_row(Fixture *x, const Row *row) {
        const char *ro = row_get(row, "ro"), *options = row_get(row, "options");

        x->node = test_node();
        x->settings = test_settings(row_get(row, "conf"));
        x->request = make_request(TARGET_2, "pod-2", row_get(row, "fs"), row_need(row, "mode"), "OnVolumeMount",
                                  "s0:c0,c1");
        if (!row_get(row, "fs"))
                x->request.source = copy("/dev/vdb");
        take_cell(&x->request.driver, row, "driver");
        take_cell(&x->request.volume_type, row, "type");
        take_cell(&x->observed.fs_type, row, "found");
        if (options)
                x->request.mount_options = copy_list(options);
        x->request.fs_group = group_from_cell(row_get(row, "group"));
        x->request.fs_group_policy = policy_from_cell(row_get(row, "policy"));
        g_assert_true(!ro || streq(ro, "request") || streq(ro, "option") || streq(ro, "device"));
        x->request.read_only = ro && streq(ro, "request");
        x->observed.device_read_only = ro && streq(ro, "device");
        if (ro && streq(ro, "option"))
                g_assert_cmpint(strv_extend(&x->request.mount_options, "ro"), ==, 0);
}

static void assert_plan_is_consistent(const Plan *p, gid_t wanted) {
        const char *text = ownership_reason_text(p->ownership_reason);

        /* What is known of the files is no matter of the plan. */
        g_assert_true(p->ownership != OWNERSHIP_SKIP && p->ownership_reason != OWNERSHIP_COMPLETE);
        g_assert_cmpuint(p->fs_group, ==, p->ownership == OWNERSHIP_NONE ? GID_NONE : wanted);
        g_assert_cmpint(p->ownership_reason == OWNERSHIP_NOT_ASKED, ==, wanted == GID_NONE);
        g_assert_cmpint(p->ownership == OWNERSHIP_OPTION, ==, p->ownership_reason == OWNERSHIP_POLICY_MOUNT);
        g_assert_cmpint(p->ownership == OWNERSHIP_WALK, ==, p->ownership_reason == OWNERSHIP_UNKNOWN);
        g_assert_cmpint(p->ownership == OWNERSHIP_MAP, ==, p->ownership_reason == OWNERSHIP_READ_ONLY);
        /* Nothing is written where nothing may be, and nobody who reads needs to write. */
        g_assert_true(p->ownership != OWNERSHIP_WALK || !p->read_only);
        g_assert_true(p->ownership != OWNERSHIP_MAP || p->read_only);
        g_assert_true(p->readers || !p->read_only);
        g_assert_true(wanted == GID_NONE || g_str_has_suffix(text, "."));
        g_assert_cmpuint(p->n_conflicts, ==, 0);
}

/* The label, and what becomes of it, is as it is without a group. */
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
        g_assert_cmpint(x->plan.effect, ==, with.effect);
        g_assert_cmpint(x->plan.read_only, ==, with.read_only);
        now = strv_join(x->plan.mount_options, ",");
        if (with.ownership != OWNERSHIP_OPTION)
                g_assert_cmpstr(now, ==, options);
}

/* Kubelet's answer: it changes the files, passes the group to the driver, or does nothing. It never maps. */
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

/* The policy as it may be given: by the driver's section, or by the request. */
static void set_policy(Fixture *x, bool by_request, const char *policy) {
        if (by_request) {
                x->request.fs_group_policy = policy_from_cell(policy);
                return;
        }
        g_autofree char *conf =
                g_strdup_printf("[Driver d];FSGroupPolicy=%s", policy ? policy : "ReadWriteOnceWithFSType");

        settings_done(&x->settings);
        x->settings = test_settings(conf);
}

static void test_update(gconstpointer data) {
        const Row *row = data;

        /* By whom, and whether the first pod is still there. */
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

/* --- what tables can't say --- */

/* Files are to have group 3000. */
static void set_up(Fixture *x, gconstpointer data) {
        fixture_set_up(x, NULL);
        x->request.fs_group = WANTED;
        x->request.fs_group_policy = FS_GROUP_FILE;
}

static void use(Fixture *x, const char *fs_type, const char *source) {
        g_assert_cmpint(free_and_strdup(&x->request.fs_type, fs_type), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->request.source, source), ==, 0);
}

/* A holder with the fixture's context: labels are in nobody's way here. */
static Holder *hold_volume(Fixture *x, const char *volume, const char *target, const char *name, gid_t shown,
                           gid_t on_disk) {
        Holder *h = fixture_hold(x, volume, target, name, STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        h->fs_group = shown;
        h->disk_gid = on_disk;
        g_assert_cmpint(free_and_strdup(&volumes_find(&x->volumes, volume)->source, strempty(x->request.source)), ==,
                        0);
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

static void assert_conflict(const Plan *p, size_t i, const char *volume, const char *holder, const char *target) {
        g_assert_cmpuint(p->n_conflicts, >, i);
        g_assert_cmpstr(p->conflicts[i].volume, ==, volume);
        g_assert_cmpstr(p->conflicts[i].holder, ==, holder);
        g_assert_cmpstr(p->conflicts[i].target, ==, target);
        g_assert_cmpstr(p->conflicts[i].context, ==, CONTEXT_0_1);
        g_assert_cmpuint(p->conflicts[i].since_usec, ==, TEST_SINCE_USEC);
}

/* The default of all: nothing is asked for, nothing is said. */
static void test_not_asked(Fixture *x, gconstpointer data) {
        x->request.fs_group = GID_NONE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_NONE);
        g_assert_cmpint(x->plan.ownership_reason, ==, OWNERSHIP_NOT_ASKED);
        g_assert_cmpuint(x->plan.fs_group, ==, GID_NONE);
        g_assert_cmpuint(REQUEST_INIT.fs_group, ==, GID_NONE);
}

/* kubelet writes the files of these itself, and pods may read them. */
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

        settings_done(&x->settings);
        x->settings = test_settings("[VolumeType secret];FSGroupReadsOnly=no;[VolumeType csi];FSGroupReadsOnly=yes");
        x->request.read_only = false;
        for (int csi = 0; csi < 2; csi++) {
                g_assert_cmpint(free_and_strdup(&x->request.volume_type, csi ? "csi" : "secret"), ==, 0);
                assert_success(fixture_plan(x), &x->failure);
                g_assert_cmpint(x->plan.readers, ==, csi);
        }
}

/* SELinux plays no part. */
static void test_selinux_off(Fixture *x, gconstpointer data) {
        node_done(&x->node);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_NONE);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
        g_assert_cmpuint(x->plan.fs_group, ==, WANTED);
}

/* What the mount is counts, not what was asked for; and who has made it has passed its options, or not. */
static void test_adopt(Fixture *x, gconstpointer data) {
        MountFact *mounted = fixture_mounted(x, CONTEXT_0_1, false);

        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);

        mounted->read_only = true;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_MAP);
        g_assert_cmpint(x->plan.ownership_reason, ==, OWNERSHIP_READ_ONLY);
        g_assert_true(x->plan.readers);

        /* That it could be written to doesn't help who asked for reading. */
        mounted->read_only = false;
        x->request.read_only = true;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
        g_assert_false(x->plan.readers);

        x->request.fs_group_policy = FS_GROUP_MOUNT;
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_OPTION);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 0);
}

static void test_estimate(Fixture *x, gconstpointer data) {
        static const struct {
                FSGroupPolicy policy;
                bool read_only;
                uint64_t entries;
        } cases[] = {
                { FS_GROUP_FILE, false, 300000 },
                { FS_GROUP_FILE, true, 0 },
                { FS_GROUP_NONE, false, 0 },
                { FS_GROUP_MOUNT, false, 0 },
        };
        Volume *v = volume_new(TEST_VOLUME);

        g_assert_nonnull(v);
        v->inodes_used = 300000;
        volumes_add(&x->volumes, v);
        use(x, "vfat", "/dev/vdb");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                x->request.fs_group_policy = (int) cases[i].policy;
                x->request.read_only = cases[i].read_only;
                assert_success(fixture_plan(x), &x->failure);
                g_assert_cmpint(x->plan.strategy, ==, STRATEGY_CONTEXT_MOUNT);
                g_assert_cmpuint(x->plan.entries, ==, cases[i].entries);
                g_assert_cmpuint(x->plan.usec, ==, cases[i].entries > 0 ? 2 * G_USEC_PER_SEC : 0);
        }
}

/* --- whose mount is cloned --- */

/* Mounts that show groups as they are serve everybody. */
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

/* A clone swaps what the original swaps. */
static void test_share_mapped(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, "pod-1", WANTED, OTHER), *other;

        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == h);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
        g_assert_cmpuint(x->plan.fs_group, ==, WANTED);

        /* Beside one with another group, before or behind it. */
        other = hold(x, TARGET_3, "pod-3", 4000, OTHER);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == h);
        other->fs_group = WANTED;
        h->fs_group = 4000;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == other);

        /* No second mount is needed. */
        use(x, "tmpfs", NULL);
        g_assert_cmpint(free_and_strdup(&volumes_find(&x->volumes, TEST_VOLUME)->source, ""), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == other);

        /* Only what is mounted can be cloned. */
        use(x, "ext4", NULL);
        other->state = HOLDER_MOUNTING;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
}

/* The same for all who have no use for a mount that is mapped already: a runtime can map a mount but once, and
 * whoever asks for no change of the group wants the files as they are. */
static void refuse_share(Fixture *x, gid_t shown, gid_t on_disk) {
        Holder *h = hold(x, TARGET_1, "pod-1", shown, on_disk);

        /* A disk can be mounted once more. */
        use(x, "ext4", "/dev/vdb");
        g_assert_cmpint(free_and_strdup(&volumes_find(&x->volumes, TEST_VOLUME)->source, "/dev/vdb"), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 0);

        use(x, "tmpfs", NULL);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, "pod-1", TARGET_1, SINCE,
                       "Unmount it there first");
        g_assert_null(strstr(x->failure.message, "4294967295"));
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        assert_conflict(&x->plan, 0, TEST_VOLUME, "pod-1", TARGET_1);
        g_assert_null(x->plan.share);

        use(x, "nfs", "server:/export");
        g_assert_cmpint(free_and_strdup(&volumes_find(&x->volumes, TEST_VOLUME)->source, "server:/export"), ==, 0);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "pod-1");

        /* What kind of file system it is is not known yet; and one that is not mounted stands in nobody's way. */
        use(x, NULL, NULL);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
        use(x, "tmpfs", NULL);
        h->state = HOLDER_UNMOUNTING;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
        h->state = HOLDER_MOUNTED;

        /* Nor does the mount that this plan replaces. */
        g_assert_cmpint(free_and_strdup(&h->target, TARGET_2), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_null(x->plan.share);
}

static void test_share_other_group(Fixture *x, gconstpointer data) {
        refuse_share(x, OTHER, 4000);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
}

/* It shows another group in the place of the wanted one. */
static void test_share_taken_away(Fixture *x, gconstpointer data) {
        refuse_share(x, OTHER, WANTED);
}

static void test_share_user_namespace(Fixture *x, gconstpointer data) {
        x->request.user_namespace = true;
        refuse_share(x, WANTED, OTHER);
}

static void test_share_not_asked(Fixture *x, gconstpointer data) {
        x->request.fs_group = GID_NONE;
        refuse_share(x, WANTED, OTHER);
}

static void test_share_policy_none(Fixture *x, gconstpointer data) {
        x->request.fs_group_policy = FS_GROUP_NONE;
        refuse_share(x, WANTED, OTHER);
}

/* Readers are shown the group as others are. */
static void test_share_reader(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, "pod-1", WANTED, OTHER);

        x->request.read_only = true;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_MAP);
        g_assert_true(x->plan.share == h);
        release_all(x);
        refuse_share(x, OTHER, 4000);
}

static void test_share_reader_user_namespace(Fixture *x, gconstpointer data) {
        x->request.read_only = true;
        x->request.user_namespace = true;
        refuse_share(x, WANTED, OTHER);
}

/* The message names the group that is asked for. */
static void test_share_message(Fixture *x, gconstpointer data) {
        use(x, "tmpfs", NULL);
        hold(x, TARGET_1, "pod-1", OTHER, 4000);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "wanted for group 3000",
                       "for another one", "or ask for the same group");
        x->request.fs_group = GID_NONE;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "wanted without a group");
}

/* There is a mount already: it needs no clone. */
static void test_share_adopted(Fixture *x, gconstpointer data) {
        use(x, "tmpfs", NULL);
        hold(x, TARGET_1, "pod-1", OTHER, 4000);
        fixture_mounted(x, CONTEXT_0_1, false);
        assert_success(fixture_adopt(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
}

/* Labels are looked at first, and one conflict is enough. */
static void test_share_after_context(Fixture *x, gconstpointer data) {
        use(x, "tmpfs", NULL);
        fixture_hold(x, TEST_VOLUME, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_2)->fs_group = WANTED;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        g_assert_null(x->plan.share);
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
        assert_success(fixture_plan(x), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_OPTION);
        g_assert_true(x->plan.share == h);

        for (size_t i = 0; i < G_N_ELEMENTS(conflicts); i++)
                for (HolderState state = 0; state < HOLDER_STATES; state++) {
                        h->state = state;
                        h->fs_group = conflicts[i].shown;
                        h->disk_gid = conflicts[i].on_disk;
                        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME,
                                       "wanted for group 3000", "pod-1", TARGET_1, SINCE);
                        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
                        assert_conflict(&x->plan, 0, TEST_VOLUME, "pod-1", TARGET_1);
                        g_assert_null(x->plan.share);
                }

        /* Its own mount of before is replaced. */
        g_assert_cmpint(free_and_strdup(&h->target, TARGET_2), ==, 0);
        assert_success(fixture_plan(x), &x->failure);
}

/* One who fits does not make up for another who doesn't. */
static void test_option_conflict_behind(Fixture *x, gconstpointer data) {
        use(x, "vfat", "/dev/vdb");
        x->request.fs_group_policy = FS_GROUP_MOUNT;
        hold(x, TARGET_1, "pod-1", WANTED, WANTED)->state = HOLDER_MOUNTING;
        hold(x, TARGET_3, "pod-3", OTHER, OTHER);
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "pod-3", TARGET_3);
}

/* Without the policy it is no matter of options: whether files have to be taken from somebody is seen later. */
static void test_no_option_conflict(Fixture *x, gconstpointer data) {
        Holder *h;

        use(x, "vfat", "/dev/vdb");
        h = hold(x, TARGET_1, "pod-1", OTHER, OTHER);
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == h);
        x->request.fs_group = GID_NONE;
        assert_success(fixture_plan(x), &x->failure);
        g_assert_true(x->plan.share == h);
}

/* --- whose files would be taken away --- */

static int check_group_of(Fixture *x, const char *root, gid_t gid) {
        plan_done(&x->plan);
        failure_done(&x->failure);
        x->plan.fs_group = gid;
        return plan_check_group(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, root, gid, &x->plan, &x->failure);
}

static int check_group(Fixture *x, gid_t gid) {
        return check_group_of(x, NULL, gid);
}

static void assert_nobody(Fixture *x, gid_t gid) {
        assert_success(check_group(x, gid), &x->failure);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 0);
}

static void assert_own(Fixture *x, gid_t gid) {
        g_autofree char *group = g_strdup_printf("wanted for group %u", gid);

        assert_failure(check_group(x, gid), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, group,
                       "held by pod-1 at " TARGET_1, SINCE, "Unmount it there first");
        g_assert_null(strstr(x->failure.message, "more"));
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        assert_conflict(&x->plan, 0, TEST_VOLUME, "pod-1", TARGET_1);
}

static void test_check_own(Fixture *x, gconstpointer data) {
        static const struct {
                gid_t shown, on_disk;
                bool conflicts;
        } cases[] = {
                { WANTED, WANTED, false },
                { OTHER, WANTED, false },      /* what it relies on is what is wanted */
                { GID_NONE, GID_NONE, false }, /* it doesn't rely on any */
                { OTHER, OTHER, true },
                { WANTED, OTHER, true }, /* it would show another one afterwards */
                { 0, 0, true },
                { WANTED, 0, true },
                { OTHER, WANTED + 1, true },
        };
        Holder *h;

        assert_nobody(x, WANTED); /* not even the volume is known */
        h = hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                for (HolderState state = 0; state < HOLDER_STATES; state++)
                        for (int read_only = 0; read_only < 2; read_only++) {
                                h->fs_group = cases[i].shown;
                                h->disk_gid = cases[i].on_disk;
                                h->state = state;
                                h->read_only = read_only;
                                if (cases[i].conflicts)
                                        assert_own(x, WANTED);
                                else
                                        assert_nobody(x, WANTED);
                        }
}

/* Group 0 is a group. */
static void test_check_root_group(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, "pod-1", 0, 0);

        assert_nobody(x, 0);
        assert_own(x, 1);
        h->fs_group = h->disk_gid = OTHER;
        assert_own(x, 0);
        h->disk_gid = 0;
        assert_nobody(x, 0);
}

static void test_check_own_target(Fixture *x, gconstpointer data) {
        hold(x, TARGET_2, "pod-2", OTHER, OTHER);
        observe(&x->observed, TARGET_2, "ext4", "");
        assert_nobody(x, WANTED);
        hold(x, TARGET_1, "pod-1", OTHER, OTHER);
        assert_own(x, WANTED);
        /* Once, however often it is seen. */
        observe(&x->observed, TARGET_1, "ext4", "");
        assert_own(x, WANTED);
}

/* The target is another volume's still. */
static void test_check_own_target_of_other(Fixture *x, gconstpointer data) {
        hold_volume(x, "pvc-other", TARGET_2, "pod-2", OTHER, OTHER);
        observe(&x->observed, TARGET_2, "ext4", "");
        assert_nobody(x, WANTED);
}

/* Another volume id that leads to the same file system. */
static void test_check_other_volume(Fixture *x, gconstpointer data) {
        Holder *h = hold_volume(x, "pvc-other", TARGET_1, "pod-1", OTHER, OTHER);

        for (int known = 0; known < 2; known++) {
                assert_nobody(x, WANTED);
                observe(&x->observed, "/mnt/backup", "ext4", "");
                assert_nobody(x, WANTED); /* a stranger's */
                observe(&x->observed, TARGET_1, "ext4", "");
                assert_failure(check_group(x, WANTED), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME,
                               "held as volume pvc-other by pod-1 at " TARGET_1, SINCE);
                g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
                assert_conflict(&x->plan, 0, "pvc-other", "pod-1", TARGET_1);

                h->disk_gid = WANTED;
                assert_nobody(x, WANTED);
                h->fs_group = h->disk_gid = GID_NONE;
                assert_nobody(x, WANTED);
                h->fs_group = h->disk_gid = OTHER;
                observed_done(&x->observed);
                hold(x, TARGET_3, "pod-3", WANTED, WANTED);
        }
}

/* Only who has some of the same files stands in the way. */
static void test_check_roots(Fixture *x, gconstpointer data) {
        static const struct {
                const char *root, *other;
                bool overlap;
        } cases[] = {
                { NULL, NULL, true },    { NULL, "/", true },       { NULL, "/a", false },
                { "/a", NULL, true },    { "/", "/", true },        { "/", "/a", true },
                { "/a", "/", true },     { "/a", "/a", true },      { "/a", "/a/b", true },
                { "/a/b", "/a", true },  { "/a", "/b", false },     { "/a", "/ab", false },
                { "/ab", "/a", false },  { "/a/b", "/a/c", false }, { "/a/b", "/a/bc", false },
                { "/b/a", "/a", false },
        };

        hold_volume(x, "pvc-other", TARGET_1, "pod-1", OTHER, OTHER);
        observe(&x->observed, TARGET_1, "ext4", "");
        for (int own = 0; own < 2; own++) {
                for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                        int r;

                        g_assert_cmpint(free_and_strdup(&x->observed.mounts[0].root, cases[i].other), ==, 0);
                        r = check_group_of(x, cases[i].root, WANTED);
                        g_assert_cmpint(r, ==, cases[i].overlap || own ? FAILURE_GROUP_CONFLICT : 0);
                        g_assert_cmpuint(x->plan.n_conflicts, ==, (cases[i].overlap ? 1 : 0) + (own ? 1 : 0));
                }
                /* The same volume has the same files. */
                hold(x, TARGET_3, "pod-3", OTHER, OTHER);
        }
}

static void test_check_names_all(Fixture *x, gconstpointer data) {
        hold_volume(x, "pvc-other", "/var/lib/kubelet/pods/4/v", "pod-4", OTHER, OTHER);
        observe(&x->observed, "/var/lib/kubelet/pods/4/v", "ext4", "");
        hold(x, TARGET_1, "pod-1", OTHER, OTHER);
        assert_failure(check_group(x, WANTED), &x->failure, FAILURE_GROUP_CONFLICT, "held by pod-1", "and 1 more");
        hold(x, TARGET_3, "pod-3", 0, OTHER);
        assert_failure(check_group(x, WANTED), &x->failure, FAILURE_GROUP_CONFLICT, "held by pod-1", "and 2 more");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 3);
        assert_conflict(&x->plan, 0, TEST_VOLUME, "pod-1", TARGET_1);
        assert_conflict(&x->plan, 1, TEST_VOLUME, "pod-3", TARGET_3);
        assert_conflict(&x->plan, 2, "pvc-other", "pod-4", "/var/lib/kubelet/pods/4/v");
}

/* --- the group without a mount --- */

static Volume *set_up_volume(Fixture *x) {
        Volume *v = volume_new(TEST_VOLUME);

        g_assert_nonnull(v);
        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, "ext4"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->volume_type, "csi"), ==, 0);
        v->mounted_here = true;
        volumes_add(&x->volumes, v);
        return v;
}

/* Neither the node nor the superblock was looked at. */
static int chgrp_for(Fixture *x, gid_t gid, bool readers) {
        const ChangeInput in = { .settings = &x->settings,
                                 .volumes = &x->volumes,
                                 .volume = volumes_find(&x->volumes, TEST_VOLUME) };

        plan_done(&x->plan);
        failure_done(&x->failure);
        return plan_chgrp(&in, gid, readers, &x->plan, &x->failure);
}

static int chgrp(Fixture *x, gid_t gid) {
        return chgrp_for(x, gid, false);
}

static void assert_chgrp(Fixture *x, gid_t gid, const Holder *share) {
        assert_success(chgrp(x, gid), &x->failure);
        g_assert_cmpint(x->plan.ownership, ==, OWNERSHIP_WALK);
        g_assert_cmpint(x->plan.ownership_reason, ==, OWNERSHIP_REQUESTED);
        g_assert_cmpuint(x->plan.fs_group, ==, gid);
        g_assert_cmpstr(x->plan.text, ==, ownership_reason_text(OWNERSHIP_REQUESTED));
        g_assert_true(x->plan.share == share);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 0);
        /* Labels are left alone. */
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_NONE);
        g_assert_cmpstr(x->plan.context, ==, "");
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_false(x->plan.relabel_here);
        g_assert_cmpint(x->plan.effect, ==, EFFECT_KEEP);
}

static void assert_chgrp_conflict(Fixture *x, const char *holder, const char *target) {
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, "wanted for group 3000",
                       holder, target, SINCE);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        assert_conflict(&x->plan, 0, TEST_VOLUME, holder, target);
        g_assert_cmpuint(x->plan.fs_group, ==, WANTED);
        g_assert_nonnull(x->plan.text);
        g_assert_null(x->plan.share);
}

/* It is mounted as it was the last time, if that is allowed still. */
static void test_chgrp_free(Fixture *x, gconstpointer data) {
        Volume *v = set_up_volume(x);

        v->inodes_used = 150000;
        assert_chgrp(x, WANTED, NULL);
        g_assert_cmpuint(x->plan.entries, ==, 150000);
        g_assert_cmpuint(x->plan.usec, ==, G_USEC_PER_SEC);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 0);
        assert_chgrp(x, 0, NULL);
        for (int readers = 0; readers < 2; readers++) {
                assert_success(chgrp_for(x, WANTED, readers), &x->failure);
                g_assert_cmpint(x->plan.readers, ==, readers);
        }

        g_assert_cmpint(strv_extend(&v->mount_options, "noatime"), ==, 0);
        assert_chgrp(x, WANTED, NULL);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 1);
        g_assert_cmpstr(x->plan.mount_options[0], ==, "noatime");
        g_assert_cmpint(strv_extend(&v->mount_options, "uid=0"), ==, 0);
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_INVALID_OPTION, "uid=0");
        g_assert_cmpuint(x->plan.fs_group, ==, 0); /* nothing is filled in */
}

static void test_chgrp_not_mountable(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "tmpfs", "nosuchfs", "" };
        Volume *v = set_up_volume(x);
        Holder *h;

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_assert_cmpint(free_and_strdup(&v->fs_type, types[i]), ==, 0);
                assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "Mount it first");
        }
        g_assert_cmpint(free_and_strdup(&v->fs_type, "ext4"), ==, 0);
        v->mounted_here = false;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "somebody else");
        v->mounted_here = true;
        g_assert_cmpint(free_and_strdup(&v->source, ""), ==, 0);
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "source");

        /* Whoever has it mounted needs none of that. */
        v->mounted_here = false;
        h = hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        assert_chgrp(x, WANTED, h);
}

static void test_chgrp_host_path(Fixture *x, gconstpointer data) {
        Volume *v = set_up_volume(x);

        g_assert_cmpint(free_and_strdup(&v->volume_type, "hostPath"), ==, 0);
        settings_done(&x->settings);
        x->settings = test_settings("[VolumeType hostPath];Managed=always;FSGroupPolicy=File");
        for (int held = 0; held < 2; held++) {
                assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "hostPath");
                hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        }
}

/* Who gives it to a group of their own accord, and who labels it, is not asked. */
static void test_chgrp_any_type(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "nfs", "cephfs", "emptyDir", "gone" };
        Volume *v = set_up_volume(x);

        v->access_mode = ACCESS_READ_WRITE_MANY;
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_assert_cmpint(free_and_strdup(&v->volume_type, types[i]), ==, 0);
                assert_chgrp(x, WANTED, NULL);
        }
}

static void test_chgrp_readers(Fixture *x, gconstpointer data) {
        Holder *reader, *writer;

        set_up_volume(x);
        reader = hold(x, TARGET_1, "pod-1", GID_NONE, GID_NONE);
        reader->read_only = true;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "read-only",
                       "Unmount it first");
        /* The right group does not make it writable. */
        reader->fs_group = WANTED;
        reader->disk_gid = OTHER;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "read-only");
        writer = hold(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);
        assert_chgrp(x, WANTED, writer);
        writer->state = HOLDER_UNMOUNTING;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "read-only");
}

static void test_chgrp_on_its_way(Fixture *x, gconstpointer data) {
        Holder *h, *writer;

        set_up_volume(x);
        h = hold(x, TARGET_1, "pod-1", WANTED, WANTED);
        h->state = HOLDER_MOUNTING;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_BUSY, TEST_VOLUME, "try again");
        h->state = HOLDER_UNMOUNTING;
        assert_failure(chgrp(x, WANTED), &x->failure, FAILURE_BUSY, "try again");
        writer = hold(x, TARGET_3, "pod-3", WANTED, WANTED);
        assert_chgrp(x, WANTED, writer);
}

/* Through a mount that shows groups as they are, or shows the wanted one. */
static void test_chgrp_held(Fixture *x, gconstpointer data) {
        Holder *other, *mapped, *plain;

        set_up_volume(x);
        other = hold(x, TARGET_1, "pod-1", OTHER, 4000);
        assert_chgrp_conflict(x, "pod-1", TARGET_1);
        hold(x, "/var/lib/kubelet/pods/4/v", "pod-4", GID_NONE, GID_NONE)->read_only = true;
        assert_chgrp_conflict(x, "pod-1", TARGET_1);
        other->disk_gid = WANTED; /* it shows the wanted one as another */
        assert_chgrp_conflict(x, "pod-1", TARGET_1);

        mapped = hold(x, TARGET_2, "pod-2", WANTED, OTHER);
        assert_chgrp(x, WANTED, mapped);
        plain = hold(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);
        assert_chgrp(x, WANTED, plain);
        assert_chgrp(x, OTHER, plain);
        /* That it may be for another group is plan_check_group()'s business. */
        plain->fs_group = plain->disk_gid = OTHER;
        assert_chgrp(x, WANTED, plain);
        plain->state = HOLDER_UNMOUNTING;
        assert_chgrp(x, WANTED, mapped);
        mapped->state = HOLDER_UNMOUNTING;
        assert_chgrp_conflict(x, "pod-1", TARGET_1);
}

static void test_chgrp_root_group(Fixture *x, gconstpointer data) {
        Holder *h;

        set_up_volume(x);
        h = hold(x, TARGET_1, "pod-1", 0, OTHER);
        assert_chgrp(x, 0, h);
        assert_chgrp_conflict(x, "pod-1", TARGET_1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        table_add_tests(table_load("ownership-plan.table", plan_columns), "/plan-ownership/plan", test_row);
        table_add_tests(table_load("ownership-updates.table", update_columns), "/plan-ownership/update", test_update);

#define ADD(name, function) g_test_add("/plan-ownership/" name, Fixture, NULL, set_up, function, fixture_tear_down)
        ADD("not-asked", test_not_asked);
        ADD("readers", test_readers);
        ADD("selinux-off", test_selinux_off);
        ADD("adopt", test_adopt);
        ADD("estimate", test_estimate);
        ADD("share/plain", test_share_plain);
        ADD("share/mapped", test_share_mapped);
        ADD("share/other-group", test_share_other_group);
        ADD("share/taken-away", test_share_taken_away);
        ADD("share/user-namespace", test_share_user_namespace);
        ADD("share/not-asked", test_share_not_asked);
        ADD("share/policy-none", test_share_policy_none);
        ADD("share/reader", test_share_reader);
        ADD("share/reader-user-namespace", test_share_reader_user_namespace);
        ADD("share/message", test_share_message);
        ADD("share/adopted", test_share_adopted);
        ADD("share/after-context", test_share_after_context);
        ADD("option/conflict", test_option_conflict);
        ADD("option/conflict-behind", test_option_conflict_behind);
        ADD("option/other-policy", test_no_option_conflict);
        ADD("check/own", test_check_own);
        ADD("check/root-group", test_check_root_group);
        ADD("check/own-target", test_check_own_target);
        ADD("check/own-target-of-other", test_check_own_target_of_other);
        ADD("check/other-volume", test_check_other_volume);
        ADD("check/roots", test_check_roots);
        ADD("check/names-all", test_check_names_all);
        ADD("chgrp/free", test_chgrp_free);
        ADD("chgrp/not-mountable", test_chgrp_not_mountable);
        ADD("chgrp/host-path", test_chgrp_host_path);
        ADD("chgrp/any-type", test_chgrp_any_type);
        ADD("chgrp/readers", test_chgrp_readers);
        ADD("chgrp/on-its-way", test_chgrp_on_its_way);
        ADD("chgrp/held", test_chgrp_held);
        ADD("chgrp/root-group", test_chgrp_root_group);
        return g_test_run();
}

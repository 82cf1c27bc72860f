/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "plan/files.h"
#include "plan/plan-group.h"

#include "plan-fixture.h"

/* Who gives a volume's files to a group when it is mounted, and who stands in the way. */

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
        g_assert_cmpint(x->plan.change, ==, with.change);
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
        g_assert_cmpint(volumes_add(&x->volumes, v), ==, 0);
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
                       "Unmount it there first (selvolctl unmount " TARGET_1 ")");
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
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "used with group 3000",
                       "with another group", "or ask for the same group");
        x->request.fs_group = GID_NONE;
        assert_failure(fixture_plan(x), &x->failure, FAILURE_GROUP_CONFLICT, "used without a group");
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
                                       "used with group 3000", "pod-1", TARGET_1, SINCE);
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

/* --- who relies on the group on disk --- */

/* Those whom a walk takes the files from, as the worker finds them (files_check_reliances()) in what the plan told it. */
static int check_group_of(Fixture *x, const char *root, gid_t gid) {
        const FilesDecision walk = { .ownership = OWNERSHIP_WALK, .gid = gid, .disk_gid = gid };
        Reliance *list = NULL;
        size_t n = 0;
        int r;

        failure_done(&x->failure);
        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        r = files_check_reliances(&walk, TEST_VOLUME, root, list, n, &x->failure);
        reliances_free(list, n);
        return r;
}

static int check_group(Fixture *x, gid_t gid) {
        return check_group_of(x, NULL, gid);
}

static void assert_nobody(Fixture *x, gid_t gid) {
        assert_success(check_group(x, gid), &x->failure);
}

static void assert_own(Fixture *x, gid_t gid) {
        g_autofree char *group = g_strdup_printf("given to group %u", gid);

        assert_failure(check_group(x, gid), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, group,
                       "held by pod-1 at " TARGET_1, SINCE, "Unmount it there first");
        g_assert_null(strstr(x->failure.message, "more"));
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
                g_assert_null(strstr(x->failure.message, "more"));

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
                        bool both = cases[i].overlap && own;
                        int r;

                        g_assert_cmpint(free_and_strdup(&x->observed.mounts[0].root, cases[i].other), ==, 0);
                        r = check_group_of(x, cases[i].root, WANTED);
                        g_assert_cmpint(r, ==, cases[i].overlap || own ? FAILURE_GROUP_CONFLICT : 0);
                        if (r != 0)
                                g_assert_cmpint(strstr(x->failure.message, "and 1 more") != NULL, ==, both);
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
}

static void assert_reliance(const Reliance *one, gid_t gid, const char *root, const char *who) {
        g_assert_cmpuint(one->gid, ==, gid);
        g_assert_cmpstr(one->root, ==, root);
        g_assert_cmpstr(one->who, ==, who);
}

/* With the group on disk, not the one that is shown; in the order in which they are named. */
static void test_reliances(Fixture *x, gconstpointer data) {
        Reliance *list = NULL;
        size_t n = 0;

        hold(x, TARGET_1, "pod-1", OTHER, 4000);
        hold(x, TARGET_2, "pod-2", OTHER, OTHER);                                     /* the caller's own */
        hold(x, "/var/lib/kubelet/pods/5/v", "pod-5", GID_NONE, GID_NONE);            /* relies on none */
        hold_volume(x, "pvc-elsewhere", "/var/lib/kubelet/e", "pod-6", OTHER, OTHER); /* another superblock */
        hold_volume(x, "pvc-other", TARGET_3, "pod-3", 0, 0);
        hold_volume(x, "pvc-other", "/var/lib/kubelet/pods/4/v", "pod-4", OTHER, OTHER);
        observe(&x->observed, "/mnt/backup", "ext4", "");
        observe(&x->observed, TARGET_1, "ext4", "");
        observe(&x->observed, TARGET_2, "ext4", "");
        observe(&x->observed, TARGET_3, "ext4", "");
        observe(&x->observed, "/var/lib/kubelet/pods/4/v", "ext4", "");
        x->observed.mounts[3].root = copy("/a");
        x->observed.mounts[4].root = copy("");

        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        g_assert_cmpuint(n, ==, 3);
        assert_reliance(&list[0], 4000, NULL, "held by pod-1 at " TARGET_1 " " SINCE);
        assert_reliance(&list[1], 0, "/a", "held as volume pvc-other by pod-3 at " TARGET_3 " " SINCE);
        assert_reliance(&list[2], OTHER, NULL,
                        "held as volume pvc-other by pod-4 at /var/lib/kubelet/pods/4/v " SINCE);
        reliances_free(list, n);
}

static void test_no_reliances(Fixture *x, gconstpointer data) {
        Reliance *list = NULL;
        size_t n = 1;

        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        g_assert_null(list);
        g_assert_cmpuint(n, ==, 0);
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
        ADD("reliances/some", test_reliances);
        ADD("reliances/none", test_no_reliances);
        return g_test_run();
}

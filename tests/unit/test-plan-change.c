/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan-change.h"

#include "plan-fixture.h"

/* What stands in the way of changing the files of a volume without a mount: Relabel and ApplyOwnership. */

#define TARGET_3 "/var/lib/kubelet/pods/3/volumes/v/mount"
#define TARGET_4 "/var/lib/kubelet/pods/4/volumes/v/mount"
#define SINCE    "since 2026-01-02 03:04:05 UTC"

enum { WANTED = 3000, OTHER = 2000 };

static void set_string(char **field, const char *value) {
        g_assert_cmpint(free_and_strdup(field, value), ==, 0);
}

static Volume *add_volume(Fixture *x, const char *id) {
        Volume *v = volume_new(id);

        g_assert_nonnull(v);
        set_string(&v->source, "/dev/vdb");
        set_string(&v->fs_type, "ext4");
        set_string(&v->volume_type, "csi");
        v->mounted_here = true;
        g_assert_cmpint(volumes_add(&x->volumes, v), ==, 0);
        return v;
}

static void set_up(Fixture *x, gconstpointer data) {
        fixture_set_up(x, data);
        add_volume(x, TEST_VOLUME);
}

static Volume *volume(const Fixture *x) {
        return volumes_find(&x->volumes, TEST_VOLUME);
}

/* --- labels --- */

static Holder *hold(Fixture *x, const char *target, Strategy strategy, const char *context) {
        return fixture_hold(x, TEST_VOLUME, target, "pod-1", strategy, context);
}

static int relabel_input(Fixture *x, const ChangeInput *in) {
        plan_done(&x->plan);
        failure_done(&x->failure);
        return plan_relabel(in, &x->plan, &x->failure);
}

static int relabel(Fixture *x, const char *context) {
        return relabel_input(x, &(ChangeInput){ .node = &x->node,
                                                .settings = &x->settings,
                                                .volumes = &x->volumes,
                                                .volume = volume(x),
                                                .context = context,
                                                .observed = &x->observed });
}

static void test_free(Fixture *x, gconstpointer data) {
        volume(x)->inodes_used = 150000;
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
        g_assert_cmpint(x->plan.reason, ==, REASON_REQUESTED);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpstr(x->plan.text, ==, plan_reason_text(REASON_REQUESTED));
        g_assert_null(x->plan.share);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
        g_assert_cmpuint(x->plan.entries, ==, 150000);
        g_assert_cmpuint(x->plan.usec, ==, G_USEC_PER_SEC);

        /* Neither the node nor the superblock was looked at. */
        assert_success(relabel_input(x, &(ChangeInput){ .settings = &x->settings,
                                                        .volumes = &x->volumes,
                                                        .volume = volume(x),
                                                        .context = CONTEXT_0_1 }),
                       &x->failure);
}

static void test_no_source(Fixture *x, gconstpointer data) {
        set_string(&volume(x)->source, "");
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "source",
                       "Mount it first");
        hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_1);
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
}

/* Others have mounted it, perhaps a part of it only: which one is known as long as that mount is there. */
static void test_adopted(Fixture *x, gconstpointer data) {
        Holder *h;

        volume(x)->mounted_here = false;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "somebody else",
                       "Mount it first");
        h = hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_1);
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        volume_remove_holder(volume(x), h);
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, "somebody else");
}

static void test_no_device(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "tmpfs", "nosuchfs", "" };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                set_string(&volume(x)->fs_type, types[i]);
                assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME,
                               "Mount it first");
        }
}

/* It is mounted as it was, if that is allowed still. */
static void test_mount_options(Fixture *x, gconstpointer data) {
        set_string(&volume(x)->fs_type, "btrfs");
        g_assert_cmpint(strv_extend(&volume(x)->mount_options, "subvol=pvc-1"), ==, 0);
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 1);
        g_assert_cmpstr(x->plan.mount_options[0], ==, "subvol=pvc-1");
        g_assert_cmpint(strv_extend(&volume(x)->mount_options, "user_subvol_rm_allowed"), ==, 0);
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_INVALID_OPTION, "user_subvol_rm_allowed");
}

/* --- the context --- */

static void test_context(Fixture *x, gconstpointer data) {
        assert_success(relabel(x, "system_u:object_r:container_file_t:s0:c1,c0"), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);

        assert_failure(relabel(x, ""), &x->failure, FAILURE_INVALID_CONTEXT, TEST_VOLUME, "pass the one");
        assert_failure(relabel(x, NULL), &x->failure, FAILURE_INVALID_CONTEXT, "pass the one");
        set_string(&volume(x)->context, CONTEXT_0_2);
        assert_success(relabel(x, ""), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_2);

        /* What was begun is gone on with, unless the volume was used with another one. */
        volume(x)->mark.label_state = FILES_PARTIAL;
        set_string(&volume(x)->mark.context, CONTEXT_0_2);
        assert_success(relabel(x, ""), &x->failure);
        set_string(&volume(x)->mark.context, CONTEXT_0_1);
        assert_failure(relabel(x, ""), &x->failure, FAILURE_INVALID_CONTEXT, CONTEXT_0_1, CONTEXT_0_2);
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        set_string(&volume(x)->context, "");
        assert_success(relabel(x, ""), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
        volume(x)->mark.label_state = FILES_COMPLETE;
        assert_failure(relabel(x, ""), &x->failure, FAILURE_INVALID_CONTEXT, "pass the one");

        assert_failure(relabel(x, "nonsense"), &x->failure, FAILURE_INVALID_CONTEXT, "nonsense");
        assert_failure(relabel(x, "system_u:object_r:shadow_t:s0"), &x->failure, FAILURE_TYPE_NOT_ALLOWED, "shadow_t",
                       "LabelTypes=");
}

static void test_level(Fixture *x, gconstpointer data) {
        assert_failure(relabel(x, "system_u:object_r:container_file_t"), &x->failure, FAILURE_LEVEL_REQUIRED,
                       "s0:c10,c20", "not generated");
        x->node.mls = false;
        assert_success(relabel(x, "system_u:object_r:container_file_t"), &x->failure);
}

/* --- labels that are not ours --- */

static void test_host_path(Fixture *x, gconstpointer data) {
        set_string(&volume(x)->volume_type, "hostPath");
        set_string(&volume(x)->driver, "d");
        settings_done(&x->settings);
        x->settings = test_settings("[Driver d];SELinuxMountSupported=yes;Managed=always;"
                                    "[VolumeType hostPath];Managed=always");
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "hostPath", "never");
}

static void test_never_managed(Fixture *x, gconstpointer data) {
        set_string(&volume(x)->volume_type, "cephfs");
        set_string(&volume(x)->driver, "d");
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "never managed",
                       "Managed=always");
        settings_done(&x->settings);
        x->settings = test_settings("[Driver d];SELinuxMountSupported=yes");
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
}

static void test_access_mode(Fixture *x, gconstpointer data) {
        settings_done(&x->settings);
        x->settings = test_settings("[VolumeType csi];Managed=by-access-mode");
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        volume(x)->access_mode = ACCESS_READ_WRITE_MANY;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, "several pods", "Managed=always");
}

static void test_selinux_off(Fixture *x, gconstpointer data) {
        x->node.selinux = false;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "SELinux is off");
}

/* --- those who have the volume --- */

static void test_held_same_context(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_1);

        observe(&x->observed, TARGET_1, "ext4", "");
        h->relabeled_here = true;
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_true(x->plan.share == h);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
        /* Its runtime may be at work still. */
        h->relabeled_here = false;
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        assert_success(relabel(x, ""), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
}

static void test_held_other_context(Fixture *x, gconstpointer data) {
        hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_2);
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME,
                       "relabeled to " CONTEXT_0_1, "with context " CONTEXT_0_2, "held by pod-1 at " TARGET_1, SINCE,
                       "Unmount it there first (selvolctl unmount " TARGET_1 ").");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        g_assert_cmpstr(x->plan.conflicts[0].holder, ==, "pod-1");
        g_assert_cmpuint(x->plan.conflicts[0].since_usec, ==, TEST_SINCE_USEC);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_0_1);
}

/* The runtime chose, so nobody knows what the holder relies on. */
static void test_held_unknown_context(Fixture *x, gconstpointer data) {
        hold(x, TARGET_1, STRATEGY_RELABEL, "");
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
}

static void test_held_with_context(Fixture *x, gconstpointer data) {
        hold(x, TARGET_1, STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        /* Also for the very same context: it can't be seen on disk now. */
        for (int i = 0; i < 2; i++)
                assert_failure(relabel(x, i ? CONTEXT_0_2 : CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED,
                               TEST_VOLUME, "mounted with context " CONTEXT_0_1, "held by pod-1 at " TARGET_1, SINCE,
                               "Unmount it first", "OnVolumeMount");
        /* Once it is free it can be relabeled. */
        volume_remove_holder(volume(x), volume(x)->holders);
        assert_success(relabel(x, CONTEXT_0_2), &x->failure);
        g_assert_null(x->plan.share);
}

static void test_readers_only(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, STRATEGY_NONE, ""), *writer;

        h->read_only = true;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, "read-only", "Unmount it first");
        writer = hold(x, TARGET_2, STRATEGY_RELABEL, CONTEXT_0_1);
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_true(x->plan.share == writer);
}

static void test_on_its_way(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_1);

        h->state = HOLDER_MOUNTING;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_BUSY, TEST_VOLUME, "try again");
}

/* A writer whose labels nobody manages: what it writes afterwards is not known. */
static void test_unmanaged_writer(Fixture *x, gconstpointer data) {
        Holder *h = hold(x, TARGET_1, STRATEGY_NONE, "");

        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_true(x->plan.share == h);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
}

static void test_other_volume(Fixture *x, gconstpointer data) {
        add_volume(x, "pvc-other");
        fixture_hold(x, "pvc-other", TARGET_1, "pod-1", STRATEGY_RELABEL, CONTEXT_0_2);
        observe(&x->observed, TARGET_1, "ext4", "");
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_CONTEXT_CONFLICT,
                       "held as volume pvc-other by pod-1 at " TARGET_1);
        assert_success(relabel(x, CONTEXT_0_2), &x->failure);

        set_string(&x->observed.mounts[0].context, CONTEXT_0_2);
        assert_failure(relabel(x, CONTEXT_0_2), &x->failure, FAILURE_NOT_SUPPORTED, "held as volume pvc-other");
}

static void test_hidden_mount(Fixture *x, gconstpointer data) {
        x->observed.hidden = true;
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_BUSY, TEST_VOLUME, "mountinfo");
        x->observed.hidden = false;
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
}

static void test_strangers_mount(Fixture *x, gconstpointer data) {
        Holder *h;

        observe(&x->observed, "/mnt/backup", "ext4", "");
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_RESET_LABELS);
        /* Unless it is where a driver has staged what was adopted. */
        h = hold(x, TARGET_1, STRATEGY_RELABEL, CONTEXT_0_1);
        h->relabeled_here = h->adopted = true;
        assert_success(relabel(x, CONTEXT_0_1), &x->failure);
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
        observe(&x->observed, "/mnt/b\n", "ext4", CONTEXT_0_1);
        assert_failure(relabel(x, CONTEXT_0_1), &x->failure, FAILURE_NOT_SUPPORTED, "mounted at /mnt/b\\x0a",
                       "not by selvol", CONTEXT_0_1);
}

/* --- groups --- */

/* A holder with a context: labels play no part. */
static Holder *hold_group(Fixture *x, const char *target, const char *name, gid_t shown, gid_t on_disk) {
        Holder *h = fixture_hold(x, TEST_VOLUME, target, name, STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);

        h->fs_group = shown;
        h->disk_gid = on_disk;
        return h;
}

/* Neither the node nor the superblock was looked at. */
static int ownership_for(Fixture *x, gid_t gid, bool readers) {
        const ChangeInput in = { .settings = &x->settings, .volumes = &x->volumes, .volume = volume(x) };

        plan_done(&x->plan);
        failure_done(&x->failure);
        return plan_ownership(&in, gid, readers, &x->plan, &x->failure);
}

static int ownership(Fixture *x, gid_t gid) {
        return ownership_for(x, gid, false);
}

static void assert_ownership(Fixture *x, gid_t gid, const Holder *share) {
        assert_success(ownership(x, gid), &x->failure);
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
        g_assert_cmpint(x->plan.change, ==, MARK_KEEP);
}

static void assert_ownership_conflict(Fixture *x, const char *holder, const char *target) {
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_GROUP_CONFLICT, TEST_VOLUME, "used with group 3000",
                       holder, target, SINCE);
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        g_assert_cmpstr(x->plan.conflicts[0].volume, ==, TEST_VOLUME);
        g_assert_cmpstr(x->plan.conflicts[0].holder, ==, holder);
        g_assert_cmpstr(x->plan.conflicts[0].target, ==, target);
        g_assert_cmpstr(x->plan.conflicts[0].context, ==, CONTEXT_0_1);
        g_assert_cmpuint(x->plan.conflicts[0].since_usec, ==, TEST_SINCE_USEC);
        g_assert_cmpuint(x->plan.fs_group, ==, WANTED);
        g_assert_nonnull(x->plan.text);
        g_assert_null(x->plan.share);
}

/* It is mounted as it was the last time, if that is allowed still. */
static void test_ownership_free(Fixture *x, gconstpointer data) {
        Volume *v = volume(x);

        v->inodes_used = 150000;
        assert_ownership(x, WANTED, NULL);
        g_assert_cmpuint(x->plan.entries, ==, 150000);
        g_assert_cmpuint(x->plan.usec, ==, G_USEC_PER_SEC);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 0);
        assert_ownership(x, 0, NULL);
        for (int readers = 0; readers < 2; readers++) {
                assert_success(ownership_for(x, WANTED, readers), &x->failure);
                g_assert_cmpint(x->plan.readers, ==, readers);
        }

        g_assert_cmpint(strv_extend(&v->mount_options, "noatime"), ==, 0);
        assert_ownership(x, WANTED, NULL);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 1);
        g_assert_cmpstr(x->plan.mount_options[0], ==, "noatime");
        g_assert_cmpint(strv_extend(&v->mount_options, "uid=0"), ==, 0);
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_INVALID_OPTION, "uid=0");
        g_assert_cmpuint(x->plan.fs_group, ==, 0); /* nothing is filled in */
}

static void test_ownership_not_mountable(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "tmpfs", "nosuchfs", "" };
        Volume *v = volume(x);
        Holder *h;

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                set_string(&v->fs_type, types[i]);
                assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME,
                               "Mount it first");
        }
        set_string(&v->fs_type, "ext4");
        v->mounted_here = false;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "somebody else");
        v->mounted_here = true;
        set_string(&v->source, "");
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "source");

        /* Whoever has it mounted needs none of that. */
        v->mounted_here = false;
        h = hold_group(x, TARGET_1, "pod-1", WANTED, WANTED);
        assert_ownership(x, WANTED, h);
}

static void test_ownership_host_path(Fixture *x, gconstpointer data) {
        Volume *v = volume(x);

        set_string(&v->volume_type, "hostPath");
        settings_done(&x->settings);
        x->settings = test_settings("[VolumeType hostPath];Managed=always;FSGroupPolicy=File");
        for (int held = 0; held < 2; held++) {
                assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "hostPath");
                hold_group(x, TARGET_1, "pod-1", WANTED, WANTED);
        }
}

/* Who gives it to a group of their own accord, and who labels it, is not asked. */
static void test_ownership_any_type(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "nfs", "cephfs", "emptyDir", "gone" };
        Volume *v = volume(x);

        v->access_mode = ACCESS_READ_WRITE_MANY;
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                set_string(&v->volume_type, types[i]);
                assert_ownership(x, WANTED, NULL);
        }
}

static void test_ownership_readers(Fixture *x, gconstpointer data) {
        Holder *reader, *writer;

        reader = hold_group(x, TARGET_1, "pod-1", GID_NONE, GID_NONE);
        reader->read_only = true;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "read-only",
                       "Unmount it first");
        /* The right group does not make it writable. */
        reader->fs_group = WANTED;
        reader->disk_gid = OTHER;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "read-only");
        writer = hold_group(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);
        assert_ownership(x, WANTED, writer);
        writer->state = HOLDER_UNMOUNTING;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_NOT_SUPPORTED, "read-only");
}

static void test_ownership_on_its_way(Fixture *x, gconstpointer data) {
        Holder *h, *writer;

        h = hold_group(x, TARGET_1, "pod-1", WANTED, WANTED);
        h->state = HOLDER_MOUNTING;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_BUSY, TEST_VOLUME, "try again");
        h->state = HOLDER_UNMOUNTING;
        assert_failure(ownership(x, WANTED), &x->failure, FAILURE_BUSY, "try again");
        writer = hold_group(x, TARGET_3, "pod-3", WANTED, WANTED);
        assert_ownership(x, WANTED, writer);
}

/* Through a mount that shows groups as they are, or shows the wanted one. */
static void test_ownership_held(Fixture *x, gconstpointer data) {
        Holder *other, *mapped, *plain;

        other = hold_group(x, TARGET_1, "pod-1", OTHER, 4000);
        assert_ownership_conflict(x, "pod-1", TARGET_1);
        hold_group(x, TARGET_4, "pod-4", GID_NONE, GID_NONE)->read_only = true;
        assert_ownership_conflict(x, "pod-1", TARGET_1);
        other->disk_gid = WANTED; /* it shows the wanted one as another */
        assert_ownership_conflict(x, "pod-1", TARGET_1);

        mapped = hold_group(x, TARGET_2, "pod-2", WANTED, OTHER);
        assert_ownership(x, WANTED, mapped);
        plain = hold_group(x, TARGET_3, "pod-3", GID_NONE, GID_NONE);
        assert_ownership(x, WANTED, plain);
        assert_ownership(x, OTHER, plain);
        /* That it may be for another group is for files_check_reliances() to find. */
        plain->fs_group = plain->disk_gid = OTHER;
        assert_ownership(x, WANTED, plain);
        plain->state = HOLDER_UNMOUNTING;
        assert_ownership(x, WANTED, mapped);
        mapped->state = HOLDER_UNMOUNTING;
        assert_ownership_conflict(x, "pod-1", TARGET_1);
}

static void test_ownership_root_group(Fixture *x, gconstpointer data) {
        Holder *h;

        h = hold_group(x, TARGET_1, "pod-1", 0, OTHER);
        assert_ownership(x, 0, h);
        assert_ownership_conflict(x, "pod-1", TARGET_1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

#define ADD(name, function) g_test_add("/plan-change/" name, Fixture, NULL, set_up, function, fixture_tear_down)
        ADD("relabel/free", test_free);
        ADD("relabel/no-source", test_no_source);
        ADD("relabel/adopted", test_adopted);
        ADD("relabel/no-device", test_no_device);
        ADD("relabel/mount-options", test_mount_options);
        ADD("relabel/context", test_context);
        ADD("relabel/level", test_level);
        ADD("relabel/host-path", test_host_path);
        ADD("relabel/never-managed", test_never_managed);
        ADD("relabel/access-mode", test_access_mode);
        ADD("relabel/selinux-off", test_selinux_off);
        ADD("relabel/held/same-context", test_held_same_context);
        ADD("relabel/held/other-context", test_held_other_context);
        ADD("relabel/held/unknown-context", test_held_unknown_context);
        ADD("relabel/held/with-context", test_held_with_context);
        ADD("relabel/held/readers-only", test_readers_only);
        ADD("relabel/held/on-its-way", test_on_its_way);
        ADD("relabel/held/unmanaged-writer", test_unmanaged_writer);
        ADD("relabel/other-volume", test_other_volume);
        ADD("relabel/hidden-mount", test_hidden_mount);
        ADD("relabel/strangers-mount", test_strangers_mount);
        ADD("ownership/free", test_ownership_free);
        ADD("ownership/not-mountable", test_ownership_not_mountable);
        ADD("ownership/host-path", test_ownership_host_path);
        ADD("ownership/any-type", test_ownership_any_type);
        ADD("ownership/readers", test_ownership_readers);
        ADD("ownership/on-its-way", test_ownership_on_its_way);
        ADD("ownership/held", test_ownership_held);
        ADD("ownership/root-group", test_ownership_root_group);
        return g_test_run();
}

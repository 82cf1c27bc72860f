/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support.h"

/* What stands in the way of relabelling a volume that is held, or that is not. */

#define TARGET_1  "/var/lib/kubelet/pods/1/volumes/v/mount"
#define TARGET_2  "/var/lib/kubelet/pods/2/volumes/v/mount"
#define CONTEXT_A "system_u:object_r:container_file_t:s0:c0,c1"
#define CONTEXT_B "system_u:object_r:container_file_t:s0:c0,c2"

static const uint64_t since_usec = UINT64_C(1767323045000000);

typedef struct Fixture {
        Node node;
        Settings settings;
        Volumes volumes;
        Observed observed;
        Volume *volume;
        Failure failure;
        Plan plan;
} Fixture;

static Volume *add_volume(Fixture *x, const char *id) {
        Volume *v = volume_new(id);

        g_assert_nonnull(v);
        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, "ext4"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->volume_type, "csi"), ==, 0);
        v->mounted_here = true;
        volumes_add(&x->volumes, v);
        return v;
}

static void set_up(Fixture *x, gconstpointer data) {
        x->node = test_node();
        x->settings = test_settings(NULL);
        x->volume = add_volume(x, TEST_VOLUME);
}

static void tear_down(Fixture *x, gconstpointer data) {
        plan_done(&x->plan);
        failure_done(&x->failure);
        observed_done(&x->observed);
        volumes_done(&x->volumes);
        settings_done(&x->settings);
        node_done(&x->node);
}

static Holder *hold(Volume *v, const char *target, Strategy strategy, const char *context) {
        Holder *h = calloc(1, sizeof(*h));

        g_assert_nonnull(h);
        *h = (Holder){ .name = copy("pod-1"),
                       .target = copy(target),
                       .state = HOLDER_MOUNTED,
                       .strategy = strategy,
                       .since_usec = since_usec,
                       .fs_group = GID_NONE,
                       .disk_gid = GID_NONE };
        volume_add_holder(v, h);
        v->strategy = strategy > v->strategy ? strategy : v->strategy;
        g_assert_cmpint(free_and_strdup(&v->context, context), ==, 0);
        return h;
}

static void observe(Fixture *x, const char *target, const char *context) {
        Observed *o = &x->observed;

        o->mounts = reallocarray(o->mounts, o->n_mounts + 1, sizeof(MountFact));
        g_assert_nonnull(o->mounts);
        o->mounts[o->n_mounts++] = (MountFact){ .target = copy(target), .context = copy(context), .mount_id = 1 };
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
                                                .volume = x->volume,
                                                .context = context,
                                                .observed = &x->observed });
}

static void test_free(Fixture *x, gconstpointer data) {
        x->volume->inodes_used = 150000;
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_cmpint(x->plan.strategy, ==, STRATEGY_RELABEL);
        g_assert_cmpint(x->plan.reason, ==, REASON_REQUESTED);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_A);
        g_assert_true(x->plan.relabel_here);
        g_assert_cmpstr(x->plan.runtime_flag, ==, "");
        g_assert_cmpstr(x->plan.text, ==, plan_reason_text(REASON_REQUESTED));
        g_assert_null(x->plan.share);
        g_assert_cmpint(x->plan.effect, ==, EFFECT_KEEP);
        g_assert_cmpuint(x->plan.entries, ==, 150000);
        g_assert_cmpuint(x->plan.usec, ==, G_USEC_PER_SEC);

        /* Neither the node nor the superblock was looked at. */
        assert_success(relabel_input(x, &(ChangeInput){ .settings = &x->settings,
                                                        .volumes = &x->volumes,
                                                        .volume = x->volume,
                                                        .context = CONTEXT_A }),
                       &x->failure);
}

static void test_no_source(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->volume->source, ""), ==, 0);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "source",
                       "Mount it first");
        hold(x->volume, TARGET_1, STRATEGY_RELABEL, CONTEXT_A);
        assert_success(relabel(x, CONTEXT_A), &x->failure);
}

/* Others have mounted it, perhaps a part of it only: which one is known as long as that mount is there. */
static void test_adopted(Fixture *x, gconstpointer data) {
        Holder *h;

        x->volume->mounted_here = false;
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "somebody else",
                       "Mount it first");
        h = hold(x->volume, TARGET_1, STRATEGY_RELABEL, CONTEXT_A);
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        volume_remove_holder(x->volume, h);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, "somebody else");
}

static void test_no_device(Fixture *x, gconstpointer data) {
        static const char *const types[] = { "tmpfs", "nosuchfs", "" };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_assert_cmpint(free_and_strdup(&x->volume->fs_type, types[i]), ==, 0);
                assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME,
                               "Mount it first");
        }
}

/* It is mounted as it was, if that is allowed still. */
static void test_mount_options(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->volume->fs_type, "btrfs"), ==, 0);
        g_assert_cmpint(strv_extend(&x->volume->mount_options, "subvol=pvc-1"), ==, 0);
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_cmpuint(strv_length(x->plan.mount_options), ==, 1);
        g_assert_cmpstr(x->plan.mount_options[0], ==, "subvol=pvc-1");
        g_assert_cmpint(strv_extend(&x->volume->mount_options, "user_subvol_rm_allowed"), ==, 0);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_INVALID_OPTION, "user_subvol_rm_allowed");
}

/* --- the context --- */

static void test_context(Fixture *x, gconstpointer data) {
        assert_success(relabel(x, "system_u:object_r:container_file_t:s0:c1,c0"), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_A);

        assert_failure(relabel(x, ""), &x->failure, FAILURE_INVALID_CONTEXT, TEST_VOLUME, "name the one");
        assert_failure(relabel(x, NULL), &x->failure, FAILURE_INVALID_CONTEXT, "name the one");
        g_assert_cmpint(free_and_strdup(&x->volume->context, CONTEXT_B), ==, 0);
        assert_success(relabel(x, ""), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_B);

        assert_failure(relabel(x, "nonsense"), &x->failure, FAILURE_INVALID_CONTEXT, "nonsense");
        assert_failure(relabel(x, "system_u:object_r:shadow_t:s0"), &x->failure, FAILURE_TYPE_NOT_ALLOWED, "shadow_t",
                       "LabelTypes=");
}

static void test_level(Fixture *x, gconstpointer data) {
        assert_failure(relabel(x, "system_u:object_r:container_file_t"), &x->failure, FAILURE_LEVEL_REQUIRED,
                       "s0:c10,c20", "never invented");
        x->node.mls = false;
        assert_success(relabel(x, "system_u:object_r:container_file_t"), &x->failure);
}

/* --- labels that are not ours --- */

static void test_host_path(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->volume->volume_type, "hostPath"), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->volume->driver, "d"), ==, 0);
        settings_done(&x->settings);
        x->settings = test_settings("[Driver d];SELinuxMountSupported=yes;Managed=always;"
                                    "[VolumeType hostPath];Managed=always");
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "hostPath", "never");
}

static void test_never_managed(Fixture *x, gconstpointer data) {
        g_assert_cmpint(free_and_strdup(&x->volume->volume_type, "cephfs"), ==, 0);
        g_assert_cmpint(free_and_strdup(&x->volume->driver, "d"), ==, 0);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "never managed",
                       "Managed=always");
        settings_done(&x->settings);
        x->settings = test_settings("[Driver d];SELinuxMountSupported=yes");
        assert_success(relabel(x, CONTEXT_A), &x->failure);
}

static void test_access_mode(Fixture *x, gconstpointer data) {
        settings_done(&x->settings);
        x->settings = test_settings("[VolumeType csi];Managed=by-access-mode");
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        x->volume->access_mode = ACCESS_READ_WRITE_MANY;
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, "Several pods", "Managed=always");
}

static void test_selinux_off(Fixture *x, gconstpointer data) {
        x->node.selinux = false;
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME, "SELinux is off");
}

/* --- those who have the volume --- */

static void test_held_same_context(Fixture *x, gconstpointer data) {
        Holder *h = hold(x->volume, TARGET_1, STRATEGY_RELABEL, CONTEXT_A);

        observe(x, TARGET_1, "");
        h->relabelled_here = true;
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_true(x->plan.share == h);
        g_assert_cmpint(x->plan.effect, ==, EFFECT_KEEP);
        /* Its runtime may be at work still. */
        h->relabelled_here = false;
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_cmpint(x->plan.effect, ==, EFFECT_FORGET);
        assert_success(relabel(x, ""), &x->failure);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_A);
}

static void test_held_other_context(Fixture *x, gconstpointer data) {
        hold(x->volume, TARGET_1, STRATEGY_RELABEL, CONTEXT_B);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_CONTEXT_CONFLICT, TEST_VOLUME,
                       "for relabelling to " CONTEXT_A, "with context " CONTEXT_B, "held by pod-1 at " TARGET_1,
                       "since 2026-01-02 03:04:05 UTC", "Unmount it there", "ContextReleased");
        g_assert_cmpuint(x->plan.n_conflicts, ==, 1);
        g_assert_cmpstr(x->plan.conflicts[0].holder, ==, "pod-1");
        g_assert_cmpuint(x->plan.conflicts[0].since_usec, ==, since_usec);
        g_assert_cmpstr(x->plan.context, ==, CONTEXT_A);
}

/* The runtime chose, so nobody knows what the holder relies on. */
static void test_held_unknown_context(Fixture *x, gconstpointer data) {
        hold(x->volume, TARGET_1, STRATEGY_RELABEL, "");
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_CONTEXT_CONFLICT, "pod-1");
}

static void test_held_with_context(Fixture *x, gconstpointer data) {
        hold(x->volume, TARGET_1, STRATEGY_CONTEXT_MOUNT, CONTEXT_A);
        /* Also for the very same context: it can't be seen on disk now. */
        for (int i = 0; i < 2; i++)
                assert_failure(relabel(x, i ? CONTEXT_B : CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, TEST_VOLUME,
                               "mounted with context " CONTEXT_A, "held by pod-1 at " TARGET_1,
                               "since 2026-01-02 03:04:05 UTC", "Unmount it first", "OnVolumeMount");
        /* Once it is free it can be relabelled. */
        volume_remove_holder(x->volume, x->volume->holders);
        assert_success(relabel(x, CONTEXT_B), &x->failure);
        g_assert_null(x->plan.share);
}

static void test_readers_only(Fixture *x, gconstpointer data) {
        Holder *h = hold(x->volume, TARGET_1, STRATEGY_NONE, ""), *writer;

        h->read_only = true;
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, "read-only", "Unmount it first");
        writer = hold(x->volume, TARGET_2, STRATEGY_RELABEL, CONTEXT_A);
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_true(x->plan.share == writer);
}

static void test_on_its_way(Fixture *x, gconstpointer data) {
        Holder *h = hold(x->volume, TARGET_1, STRATEGY_RELABEL, CONTEXT_A);

        h->state = HOLDER_MOUNTING;
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_BUSY, TEST_VOLUME, "try again");
}

/* A writer whose labels nobody manages: what it writes afterwards is not known. */
static void test_unmanaged_writer(Fixture *x, gconstpointer data) {
        Holder *h = hold(x->volume, TARGET_1, STRATEGY_NONE, "");

        assert_success(relabel(x, CONTEXT_A), &x->failure);
        g_assert_true(x->plan.share == h);
        g_assert_cmpint(x->plan.effect, ==, EFFECT_FORGET);
}

static void test_other_volume(Fixture *x, gconstpointer data) {
        Volume *other = add_volume(x, "pvc-other");

        hold(other, TARGET_1, STRATEGY_RELABEL, CONTEXT_B);
        observe(x, TARGET_1, "");
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_CONTEXT_CONFLICT,
                       "held as volume pvc-other by pod-1 at " TARGET_1);
        assert_success(relabel(x, CONTEXT_B), &x->failure);

        g_assert_cmpint(free_and_strdup(&x->observed.mounts[0].context, CONTEXT_B), ==, 0);
        assert_failure(relabel(x, CONTEXT_B), &x->failure, FAILURE_NOT_SUPPORTED, "held as volume pvc-other");
}

static void test_strangers_mount(Fixture *x, gconstpointer data) {
        observe(x, "/mnt/backup", "");
        assert_success(relabel(x, CONTEXT_A), &x->failure);
        observe(x, "/mnt/b\n", CONTEXT_A);
        assert_failure(relabel(x, CONTEXT_A), &x->failure, FAILURE_NOT_SUPPORTED, "mounted at /mnt/b\\x0a",
                       "not by selvol", CONTEXT_A);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

#define ADD(name, function) g_test_add("/plan-relabel/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("free", test_free);
        ADD("no-source", test_no_source);
        ADD("adopted", test_adopted);
        ADD("no-device", test_no_device);
        ADD("mount-options", test_mount_options);
        ADD("context", test_context);
        ADD("level", test_level);
        ADD("host-path", test_host_path);
        ADD("never-managed", test_never_managed);
        ADD("access-mode", test_access_mode);
        ADD("selinux-off", test_selinux_off);
        ADD("held/same-context", test_held_same_context);
        ADD("held/other-context", test_held_other_context);
        ADD("held/unknown-context", test_held_unknown_context);
        ADD("held/with-context", test_held_with_context);
        ADD("held/readers-only", test_readers_only);
        ADD("held/on-its-way", test_on_its_way);
        ADD("held/unmanaged-writer", test_unmanaged_writer);
        ADD("other-volume", test_other_volume);
        ADD("strangers-mount", test_strangers_mount);
        return g_test_run();
}

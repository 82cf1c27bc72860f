/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/stage-namespace.h"
#include "support.h"

/* The worker stages mounts in a mount namespace. */

enum { MANY = 100, FEW = 6 };

static unsigned count_table(void) {
        return file_count_lines("/proc/self/mountinfo", "?*");
}

static char *make_stage(void) {
        char *stage = g_strdup(TEST_DIR "/stage");

        (void) rmdir(stage);
        must(mkdir(stage, 0700));
        return stage;
}

/* The caller leaves the namespace afterwards, and must not see the mount then. */
static void mount_staged(const char *stage) {
        must(mount("staged", stage, "tmpfs", 0, "size=1m"));
        g_assert_true(is_mounted(stage));
}

/* The namespace has only the few mounts that staging needs, and none of an earlier use. */
TEST(test_few, "/stage-namespace/few") {
        g_autofree char *stage = make_stage();
        _cleanup_close_ int namespace = -EBADF;
        unsigned before;

        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *name = path_printf("many-%u", i), *target = make_target(name);

                must(mount("many", target, "tmpfs", 0, "size=1m"));
        }
        before = count_table();
        g_assert_cmpint(stage_namespace_make(stage, &namespace), ==, 0);
        g_assert_cmpint(namespace, >=, 0);
        g_assert_cmpuint(count_table(), ==, before);
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_close_ int host = -EBADF;

                g_assert_cmpint(stage_namespace_enter(namespace, &host), ==, 0);
                g_assert_cmpuint(count_table(), <=, FEW);
                must(access("/dev/null", W_OK));
                must(access("/sys/block", R_OK));
                g_assert_false(is_mounted(stage));
                mount_staged(stage);
                g_assert_cmpint(stage_namespace_leave(host), ==, 0);
                g_assert_cmpuint(count_table(), ==, before);
                g_assert_false(is_mounted(stage));
        }
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *target = path_printf(TEST_TARGETS "/many-%u", i);

                must(umount(target));
        }
}

/* The namespace keeps no mount of the host's namespace busy. */
TEST(test_not_busy, "/stage-namespace/not-busy") {
        g_autofree char *stage = make_stage(), *target = make_target("busy"), *image = make_image("busy", "ext4"),
                        *device = NULL;
        _cleanup_close_ int namespace = -EBADF, loop = -EBADF, exclusive = -EBADF;

        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        g_assert_cmpint(stage_namespace_make(stage, &namespace), ==, 0);
        must(umount(target));
        exclusive = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
        must(exclusive);
}

/* The namespace is a copy of the host's for a mount helper, which may need everything. */
TEST(test_copy, "/stage-namespace/copy") {
        g_autofree char *stage = make_stage();
        _cleanup_close_ int host = -EBADF;
        unsigned before = count_table();

        g_assert_cmpint(stage_namespace_enter(-EBADF, &host), ==, 0);
        g_assert_cmpuint(count_table(), ==, before);
        must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
        mount_staged(stage);
        g_assert_cmpint(stage_namespace_leave(host), ==, 0);
        g_assert_false(is_mounted(stage));
}

/* The mounts of the host's namespace do not change if no namespace can be made. */
TEST(test_none, "/stage-namespace/none") {
        _cleanup_close_ int namespace = -EBADF;
        unsigned before = count_table();

        g_assert_cmpint(stage_namespace_make(TEST_DIR "/missing", &namespace), ==, -ENOENT);
        g_assert_cmpint(namespace, <, 0);
        g_assert_cmpuint(count_table(), ==, before);
}

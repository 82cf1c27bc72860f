/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/stage-namespace.h"
#include "support.h"

/* Mount namespaces to stage in. */

enum { MANY = 100, FEW = 6 };

static unsigned count_table(void) {
        g_autofree char *text = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL));
        for (const char *p = text; (p = strchr(p, '\n')); p++)
                n++;
        return n;
}

static char *make_stage(void) {
        char *stage = g_strdup(TEST_DIR "/stage");

        (void) rmdir(stage);
        must(mkdir(stage, 0700));
        return stage;
}

static void mount_many(void) {
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *name = path_printf("many-%u", i), *target = make_target(name);

                must(mount("many", target, "tmpfs", 0, "size=1m"));
        }
}

static void unmount_many(void) {
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *target = path_printf(TEST_TARGETS "/many-%u", i);

                must(umount(target));
        }
}

/* What is mounted there is nowhere else, and goes with it. */
static void assert_private(const char *stage) {
        must(mount("staged", stage, "tmpfs", 0, "size=1m"));
        g_assert_true(is_mounted(stage));
}

/* However many mounts there are, it has few, but all that a mount needs, and what comes later is not in it. */
static void test_few(void) {
        g_autofree char *stage = make_stage();
        _cleanup_close_ int namespace = -EBADF;
        unsigned before;

        mount_many();
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
                assert_private(stage);
                g_assert_cmpint(stage_namespace_leave(host), ==, 0);
                g_assert_cmpuint(count_table(), ==, before);
                g_assert_false(is_mounted(stage));
        }
        unmount_many();
}

/* What is mounted in the host's namespace is not kept busy by it. */
static void test_not_busy(void) {
        g_autofree char *stage = make_stage(), *target = make_target("busy"), *image = make_image("busy", "ext4"),
                        *device = NULL;
        _cleanup_close_ int namespace = -EBADF, loop = -EBADF, exclusive = -EBADF;

        if (!image)
                return;
        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        g_assert_cmpint(stage_namespace_make(stage, &namespace), ==, 0);
        must(umount(target));
        exclusive = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
        must(exclusive);
}

/* Without one, or for a helper that may need everything, it is a copy of the host's. */
static void test_copy(void) {
        g_autofree char *stage = make_stage();
        _cleanup_close_ int host = -EBADF;
        unsigned before = count_table();

        g_assert_cmpint(stage_namespace_enter(-EBADF, &host), ==, 0);
        g_assert_cmpuint(count_table(), ==, before);
        must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
        assert_private(stage);
        g_assert_cmpint(stage_namespace_leave(host), ==, 0);
        g_assert_false(is_mounted(stage));
}

/* Where it can't be made there is none, and nothing has changed. */
static void test_none(void) {
        _cleanup_close_ int namespace = -EBADF;
        unsigned before = count_table();

        g_assert_cmpint(stage_namespace_make(TEST_DIR "/missing", &namespace), ==, -ENOENT);
        g_assert_cmpint(namespace, <, 0);
        g_assert_cmpuint(count_table(), ==, before);
}

void add_tests(void) {
        g_test_add_func("/stage-namespace/few", test_few);
        g_test_add_func("/stage-namespace/not-busy", test_not_busy);
        g_test_add_func("/stage-namespace/copy", test_copy);
        g_test_add_func("/stage-namespace/none", test_none);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/superblock.h"
#include "support.h"

/* What btrfs has mounted need not be what was asked for: it takes the devices that the kernel knows with the UUID. */

static Source source_of(const FileSystem *fs, const char *image) {
        struct stat st;

        must(stat(image, &st));
        return (Source){
                .fs = fs, .fd = -EBADF, .is_image = true, .image_device = st.st_dev, .image_inode = st.st_ino
        };
}

static int is_on(const char *directory, const char *image) {
        const FileSystem fs = { .name = (char *) "btrfs", .source = SOURCE_BLOCK };
        const Source source = source_of(&fs, image);
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        must(fd);
        r = superblock_is_on_source(fd, &source);
        close(fd);
        return r;
}

static void test_device(void) {
        g_autofree char *one = make_image("one", NULL), *two = make_image("two", NULL), *device_one = NULL,
                        *device_two = NULL, *target = make_target("btrfs");
        int loop_one, loop_two;

        if (!has_program("mkfs.btrfs")) {
                g_test_skip("mkfs.btrfs");
                return;
        }
        device_one = attach_loop(one, &loop_one);
        device_two = attach_loop(two, &loop_two);
        g_assert_true(run("mkfs.btrfs", "-qf", device_one, NULL));
        must(mount(device_one, target, "btrfs", 0, NULL));
        g_assert_cmpint(is_on(target, one), ==, 1);
        g_assert_cmpint(is_on(target, two), ==, 0);
        must(umount2(target, 0));

        g_assert_true(run("mkfs.btrfs", "-qf", device_one, device_two, NULL));
        g_assert_true(run("btrfs", "device", "scan", device_one, device_two, NULL));
        must(mount(device_one, target, "btrfs", 0, NULL));
        g_assert_cmpint(is_on(target, one), ==, 0);
        must(umount2(target, 0));
        (void) run("btrfs", "device", "scan", "--forget", NULL);
        close(loop_one);
        close(loop_two);
}

/* Of others the number of the device says it all. */
static void test_other(void) {
        g_autofree char *image = make_image("other", NULL), *target = make_target("other");

        must(mount("tmpfs", target, "tmpfs", 0, NULL));
        g_assert_cmpint(is_on(target, image), ==, 1);
        must(umount2(target, 0));
}

void add_tests(void) {
        g_test_add_func("/superblock/device", test_device);
        g_test_add_func("/superblock/other", test_other);
}

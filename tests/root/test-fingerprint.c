/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/xattr.h>

#include "mount/on-disk.h"
#include "mount/superblock.h"
#include "support.h"

/* The kernel changes the fingerprint of a file system that is mounted for writing, or the file system is
 * unclean afterwards. The kernel mounts a btrfs from all the devices that it knows with the UUID. */

typedef struct Disk {
        const char *fs_type;
        char *image, *device, *target;
        int loop;
} Disk;

static Disk disk_make(const char *fs_type) {
        Disk d = { .fs_type = fs_type, .image = make_image(fs_type, fs_type), .target = make_target(fs_type) };

        d.device = attach_loop(d.image, &d.loop);
        return d;
}

static void disk_done(Disk *d) {
        if (d->loop >= 0)
                close(d->loop);
        g_free(d->image);
        g_free(d->device);
        g_free(d->target);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Disk, disk_done)

static Fingerprint read_path(const char *path, const char *fs_type) {
        _cleanup_close_ int fd = open_path(path, O_RDONLY);

        return fingerprint_read(fd, fs_type);
}

/* A source may be the device or the image. Both have the same fingerprint. */
static Fingerprint read_disk(const Disk *d) {
        Fingerprint f = read_path(d->device, d->fs_type), of_image = read_path(d->image, d->fs_type);

        g_assert_cmpstr(f.text, ==, of_image.text);
        return f;
}

static void use(const Disk *d, unsigned long flags, bool write) {
        must(mount(d->device, d->target, d->fs_type, flags, NULL));
        if (write)
                must(setxattr(d->target, "trusted.test", "x", 1, 0));
        must(umount2(d->target, 0));
}

TEST_DISKS(test_use, "/fingerprint/use", "ext4", "xfs", "btrfs") {
        g_auto(Disk) d = disk_make(fs_type);
        Fingerprint first, read, written;

        use(&d, 0, true);
        first = read_disk(&d);
        g_assert_true(fingerprint_is_known(&first));

        use(&d, MS_RDONLY, false);
        read = read_disk(&d);
        if (!g_str_equal(d.fs_type, "xfs"))
                g_assert_cmpstr(read.text, ==, first.text);
        g_assert_false(fingerprint_is_next(&first, &read));

        use(&d, 0, true);
        written = read_disk(&d);
        g_assert_true(fingerprint_is_known(&written));
        g_assert_cmpstr(written.text, !=, read.text);
        g_assert_cmpint(fingerprint_is_next(&read, &written), ==, g_str_equal(d.fs_type, "ext4"));
}

static int mount_and_sync(const Disk *d) {
        int fd;

        must(mount(d->device, d->target, d->fs_type, 0, NULL));
        fd = open_directory(d->target);
        must(syncfs(fd));
        return fd;
}

/* ext4 counts the mount at once. xfs and btrfs do not change before a write. A thread of btrfs makes the tree
 * of UUIDs that mkfs leaves out. If the first mount ends before that, the next one makes it. */
TEST_DISKS(test_mounted, "/fingerprint/mounted", "ext4", "xfs", "btrfs") {
        g_auto(Disk) d = disk_make(fs_type);
        Fingerprint before, now;
        int fd;

        use(&d, 0, true);
        for (unsigned n = 0;; n++) {
                before = read_disk(&d);
                fd = mount_and_sync(&d);
                now = read_disk(&d);
                if (!g_str_equal(d.fs_type, "btrfs") || g_str_equal(now.text, before.text) || n == 5)
                        break;
                close(fd);
                must(umount2(d.target, 0));
        }
        if (g_str_equal(d.fs_type, "ext4"))
                g_assert_true(fingerprint_is_next(&before, &now));
        else
                g_assert_cmpstr(now.text, ==, before.text);

        must(setxattr(d.target, "trusted.test", "yy", 2, 0));
        must(syncfs(fd));
        now = read_disk(&d);
        g_assert_cmpstr(now.text, !=, before.text);
        close(fd);
        must(umount2(d.target, 0));
}

/* A copy of a mounted disk is as the disk would be after a loss of power. */
TEST_DISKS(test_crash, "/fingerprint/crash", "ext4", "xfs", "btrfs") {
        g_auto(Disk) d = disk_make(fs_type);
        g_autofree char *copy = NULL;
        _cleanup_close_ int fd = -EBADF;
        Fingerprint before, after;

        use(&d, 0, true);
        before = read_disk(&d);
        copy = path_printf("%s-copy", d.image);
        must(mount(d.device, d.target, d.fs_type, 0, NULL));
        must(setxattr(d.target, "trusted.test", "yy", 2, 0));
        fd = open_directory(d.target);
        must(fsync(fd));
        fd = fd_close(fd);
        g_assert_true(run("cp", "--sparse=always", d.image, copy, NULL));
        must(umount2(d.target, 0));
        after = read_path(copy, d.fs_type);
        g_assert_cmpstr(after.text, !=, before.text);
        if (g_str_equal(d.fs_type, "ext4"))
                g_assert_true(fingerprint_is_next(&before, &after));
        else if (g_str_equal(d.fs_type, "xfs"))
                g_assert_cmpstr(after.text, ==, "");
        must(unlink(copy));
}

static void assert_unknown(const char *path, const char *fs_type) {
        const Fingerprint f = read_path(path, fs_type);

        g_assert_cmpstr(f.text, ==, "");
}

/* Empty disks, other types, a btrfs on several devices and an xfs without checksums have no fingerprint. */
TEST(test_unknown, "/fingerprint/unknown") {
        g_autofree char *xfs = make_image("unknown", NULL), *other = make_image("unknown-other", NULL);

        assert_unknown(xfs, "xfs");
        assert_unknown(xfs, "vfat");
        assert_unknown("/dev/null", "ext4");
        if (has_program("mkfs.btrfs") && run("mkfs.btrfs", "-q", "-f", xfs, other, NULL))
                assert_unknown(xfs, "btrfs");
        if (has_program("mkfs.xfs") && run("mkfs.xfs", "-q", "-f", "-m", "crc=0", xfs, NULL))
                assert_unknown(xfs, "xfs");
}

static int is_on(const char *directory, const char *image) {
        const FileSystem fs = { .name = (char *) "btrfs", .source = SOURCE_BLOCK };
        Source source = { .fs = &fs, .fd = -EBADF, .is_image = true };
        _cleanup_close_ int fd = open_directory(directory);
        _cleanup_free_ char *wanted = NULL, *found = NULL;
        struct stat st;

        must(stat(image, &st));
        source.image_device = st.st_dev;
        source.image_inode = st.st_ino;
        g_assert_cmpint(superblock_name_source(&source, &wanted), ==, 0);
        g_assert_cmpint(superblock_name_mounted(fd, 0, &found), ==, 0);
        return g_strcmp0(wanted, found) == 0;
}

TEST_DISKS(test_device, "/superblock/device", "btrfs") {
        _cleanup_close_ int loop_one = -EBADF, loop_two = -EBADF;
        g_autofree char *one = make_image("one", NULL), *two = make_image("two", NULL),
                        *device_one = attach_loop(one, &loop_one), *device_two = attach_loop(two, &loop_two),
                        *target = make_target("btrfs");

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
}

/* The superblock is clean again when the mount is looked at. */
TEST(test_options, "/superblock/options") {
        FileSystem ext4 = { .name = (char *) "ext4", .options = (char *[]){ (char *) "nobarrier", NULL } };
        const Settings settings = { .file_systems = &ext4, .n_file_systems = 1 };
        static const struct {
                const char *options, *refused;
        } rows[] = {
                { "", NULL },
                { "nobarrier", NULL },
                { "debug", "'debug'" },
                { "grpid", "'grpid'" },
                { "data=journal", "'data=journal'" },
        };
        g_auto(Disk) d = disk_make("ext4");
        _cleanup_close_ int fd = open_path(d.device, O_RDONLY);
        const Source source = { .fs = &ext4, .name = d.device, .fd = fd };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_failure_ Failure f = { 0 };
                struct stat st;
                int r;

                must(mount(d.device, d.target, "ext4", 0, rows[i].options));
                must(stat(d.target, &st));
                r = source_check_mounted(&source, st.st_dev, &settings, &f);
                must(umount2(d.target, 0));
                g_assert_cmpint(r, ==, rows[i].refused ? FAILURE_INVALID_OPTION : 0);
                if (rows[i].refused && !strstr(f.message, rows[i].refused))
                        g_error("%s", f.message);
        }
}

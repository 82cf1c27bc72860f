/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/on-disk.h"
#include "support.h"

/* What the kernel does to a fingerprint: whoever has a file system mounted for writing changes it, or
 * leaves it unclean. */

typedef struct Disk {
        const char *fs_type;
        char *image, *device, *target;
        int loop;
} Disk;

static bool disk_make(Disk *d, const char *fs_type) {
        *d = (Disk){ .fs_type = fs_type, .image = make_image(fs_type, fs_type), .loop = -1 };
        if (!d->image)
                return false;
        d->target = make_target(fs_type);
        d->device = attach_loop(d->image, &d->loop);
        return true;
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
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        Fingerprint f;

        must(fd);
        f = fingerprint_read(fd, fs_type);
        close(fd);
        return f;
}

/* By the device and by the image: both are sources. */
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

static void test_use(gconstpointer data) {
        g_auto(Disk) d = { .loop = -1 };
        Fingerprint first, read, written;

        if (!disk_make(&d, data))
                return;
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
        fd = open(d->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        must(syncfs(fd));
        return fd;
}

/* While it is mounted: ext4 has counted the mount; xfs and btrfs are what they were until something is
 * written. A thread of btrfs makes the tree of UUIDs that mkfs leaves out. If the first mount ends before
 * that, the next one makes it. */
static void test_mounted(gconstpointer data) {
        g_auto(Disk) d = { .loop = -1 };
        Fingerprint before, now;
        int fd;

        if (!disk_make(&d, data))
                return;
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

/* A copy of what is mounted is what a node leaves that loses power. */
static void test_crash(gconstpointer data) {
        g_auto(Disk) d = { .loop = -1 };
        g_autofree char *copy = NULL;
        Fingerprint before, after;
        int fd;

        if (!disk_make(&d, data))
                return;
        use(&d, 0, true);
        before = read_disk(&d);
        copy = path_printf("%s-copy", d.image);
        must(mount(d.device, d.target, d.fs_type, 0, NULL));
        must(setxattr(d.target, "trusted.test", "yy", 2, 0));
        fd = open(d.target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        must(fsync(fd));
        close(fd);
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

/* What is not looked at: a log elsewhere, several devices, other types, nothing. */
static void test_unknown(void) {
        g_autofree char *xfs = make_image("unknown", NULL), *other = make_image("unknown-other", NULL);
        Fingerprint f;

        f = read_path(xfs, "xfs");
        g_assert_cmpstr(f.text, ==, "");
        f = read_path(xfs, "vfat");
        g_assert_cmpstr(f.text, ==, "");
        f = read_path("/dev/null", "ext4");
        g_assert_cmpstr(f.text, ==, "");
        if (has_program("mkfs.btrfs") && run("mkfs.btrfs", "-q", "-f", xfs, other, NULL)) {
                f = read_path(xfs, "btrfs");
                g_assert_cmpstr(f.text, ==, "");
        }
        if (has_program("mkfs.xfs") && run("mkfs.xfs", "-q", "-f", "-m", "crc=0", xfs, NULL)) {
                f = read_path(xfs, "xfs");
                g_assert_cmpstr(f.text, ==, "");
        }
}

void add_tests(void) {
        add_words("/fingerprint/use", test_use, "ext4", "xfs", "btrfs", NULL);
        add_words("/fingerprint/mounted", test_mounted, "ext4", "xfs", "btrfs", NULL);
        add_words("/fingerprint/crash", test_crash, "ext4", "xfs", "btrfs", NULL);
        g_test_add_func("/fingerprint/unknown", test_unknown);
}

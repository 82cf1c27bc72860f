/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/swap.h>

#include "operation.h"
#include "wire/protocol.h"

/* Which devices are the host's, and which a user may mount. */

/* --- partitions of a disk --- */

/* A loop device with four partitions of 8 MiB, each with an ext4. The third has the type of an ESP. */
typedef struct Disk {
        char *device; /* such as /dev/loop0; partitions add "p1" */
        int loop;
} Disk;

static void disk_attach(Disk *d) {
        static const unsigned char types[] = { 0x83, 0x83, 0xef, 0x83 };
        unsigned char table[66] = { [64] = 0x55, 0xaa };
        g_autofree char *image = make_image("disk", NULL);
        _cleanup_close_ int fd = open_path(image, O_WRONLY);
        struct loop_info64 info;

        for (guint32 i = 0, n = 16384; i < G_N_ELEMENTS(types); i++) {
                const guint32 places[] = { GUINT32_TO_LE(2048 + i * n), GUINT32_TO_LE(n) };

                table[16 * i + 4] = types[i];
                memcpy(table + 16 * i + 8, places, sizeof(places));
        }
        must(ftruncate(fd, 48 * 1024 * 1024));
        g_assert_cmpint(pwrite(fd, table, sizeof(table), 446), ==, sizeof(table));
        d->device = attach_loop(image, &d->loop);
        must(ioctl(d->loop, LOOP_GET_STATUS64, &info));
        info.lo_flags |= LO_FLAGS_PARTSCAN;
        must(ioctl(d->loop, LOOP_SET_STATUS64, &info));
        g_assert_true(run("partx", "-u", d->device, NULL));
        for (unsigned i = 1; i <= G_N_ELEMENTS(types); i++) {
                g_autofree char *partition = path_printf("%sp%u", d->device, i);

                g_assert_true(run("mkfs.ext4", "-q", partition, NULL));
        }
}

static void disk_detach(Disk *d) {
        g_assert_true(run("partx", "-d", d->device, NULL));
        close(d->loop);
        g_free(d->device);
}

/* Each "DISK" in the texts is the device. The first partition is the source if source is NULL. */
typedef struct Row {
        const char *name;
        const char *file, *text; /* /etc/fstab, or a file in /run/systemd or /etc/systemd */
        const char *mounted;     /* where the host has mounted the second partition */
        const char *dropin;
        const char *needle; /* of the refusal; NULL: the source is allowed */
        const char *source;
        bool swap; /* the second partition is used for swap */
} Row;

#define FSTAB "/etc/fstab"
#define LATE  "/run/systemd/generator.late/"
#define ETC   "/etc/systemd/system/"
#define ALLOW "[Worker]\nSourcesOnHostDisk=DISKp1 DISKp3\n"

static const Row rows[] = {
        { "nothing" },
        { "fstab", FSTAB, "DISKp1 /boot ext4 noauto 0 0", .needle = "/etc/fstab mounts it at '/boot'" },
        { "fstab/quoted", FSTAB, "# a comment\nthis is no line\nDISKp1 /a\\040b auto", .needle = "at '/a b'" },
        { "fstab/swap", FSTAB, "DISKp1 none swap sw 0 0", .needle = "swap space of the host, by /etc/fstab" },
        { "fstab/selvol", FSTAB, "DISKp1 /boot selvol volume=a 0 0" },
        { "fstab/target", FSTAB, "DISKp1 " TEST_TARGETS "/a ext4 noauto 0 0" },
        { "fstab/other", FSTAB, "/dev/other /boot ext4" },
        { "fstab/allowed", FSTAB, "DISKp1 /boot ext4", .dropin = ALLOW, .needle = "mounts it at '/boot'" },
        { "fstab/sibling", FSTAB, "DISKp2 /boot ext4", .needle = "mounts DISKp2 at '/boot'" },
        { "fstab/sibling/line", FSTAB, "DISKp2 /boot ext4", .needle = "add SourcesOnHostDisk=DISKp1 under [Worker]" },
        { "fstab/sibling/allowed", FSTAB, "DISKp2 /boot ext4", .dropin = ALLOW },
        { "unit", LATE "efi.mount", "[Mount]\nWhat=DISKp1\nWhere=/efi\n", .needle = "efi.mount mounts it at '/efi'" },
        { "unit/blanks", LATE "a-b\\x2dc.mount", "[Mount]\nWhat = DISKp1 \n", .needle = "at '/a/b-c'" },
        { "unit/root", ETC "-.mount", "[Mount]\nWhat=DISKp1\n", .needle = "at '/'" },
        { "unit/selvol", LATE "efi.mount", "[Mount]\nWhat=DISKp1\nType=selvol\n" },
        { "unit/swap", ETC "dev-x.swap", "[Swap]\nWhat=DISKp1\n",
          .needle = "swap space of the host, by /etc/systemd" },
        { "unit/drop-in", ETC "efi.mount.d/a.conf", "[Mount]\nWhat=DISKp1\n", .needle = "at '/efi'" },
        { "unit/sibling", LATE "efi.mount", "[Mount]\nWhat=DISKp4\n", .needle = "mounts DISKp4 at '/efi'" },
        { "unit/other", LATE "efi.automount", "[Mount]\nWhat=DISKp1\n" },
        { "unit/indented", LATE "efi.mount", "[Mount]\n  What=DISKp1\n", .needle = "at '/efi'" },
        { "unit/continued", LATE "efi.mount", "[Mount]\nWhat=\\\n  DISKp1\n", .needle = "at '/efi'" },
        { "unit/slashes", LATE "efi.mount", "[Mount]\nWhat=/./DISKp1\n", .needle = "at '/efi'" },
        { "unit/dots", LATE "a-.mounts-b.mount", "[Mount]\nWhat=DISKp1\n", .needle = "at '/a/.mounts/b'" },
        { "unit/no-drop-in", ETC "efi.mount.d/a.conf.bak", "[Mount]\nWhat=DISKp1\n" },
        { "unit/directory", ETC "efi.mount.d/a.conf/b", "[Mount]\nWhat=DISKp1\n" },
        { "disk", FSTAB, "DISKp2 /boot ext4", .needle = "mounts DISKp2 at '/boot'", .source = "DISK" },
        { "disk/type", .needle = "is an EFI system partition", .source = "DISK" },
        { "mounted/outside", .mounted = "/srv", .needle = "it has mounted DISKp2, type ext4, at '/srv'" },
        { "mounted/allowed", .mounted = "/srv", .dropin = ALLOW },
        { "mounted/root", .mounted = TEST_TARGETS "/there" },
        { "mounted/foreign", .mounted = "/srv", .dropin = "[Worker]\nForeignRoots=/srv\n" },
        { "swap/sibling", .swap = true, .needle = "DISKp2 is its swap space" },
        { "type", .source = "DISKp3", .needle = "is an EFI system partition in the partition table" },
        { "type/allowed", .source = "DISKp3", .dropin = ALLOW },
};

static char *name_disk(const char *text, const Disk *d) {
        g_auto(GStrv) parts = g_strsplit(text, "DISK", -1);

        return g_strjoinv(d->device, parts);
}

/* The files that the host has are hidden from the worker. */
static void write_host_file(const char *path, const char *text) {
        static const char *const empty[] = { "/run/systemd", "/etc/systemd", "/usr/lib/systemd/system" };
        g_autofree char *fstab = path_printf(TEST_DIR "/fstab"), *above = path ? g_path_get_dirname(path) : NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(empty); i++) {
                g_assert_cmpint(g_mkdir_with_parents(empty[i], 0755), ==, 0);
                must(mount("host", empty[i], "tmpfs", 0, NULL));
        }
        g_assert_true(g_file_set_contents(fstab, g_strcmp0(path, FSTAB) == 0 ? text : "", -1, NULL));
        must(mount(fstab, FSTAB, NULL, MS_BIND, NULL));
        if (!path || g_str_equal(path, FSTAB))
                return;
        g_assert_cmpint(g_mkdir_with_parents(above, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void drop_host_files(void) {
        static const char *const paths[] = { FSTAB, "/run/systemd", "/etc/systemd", "/usr/lib/systemd/system" };

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                must(umount2(paths[i], MNT_DETACH));
}

TEST_ROWS(test_partition, "/host-use/partition", rows, row) {
        Disk disk;

        disk_attach(&disk);
        g_autofree char *text = name_disk(row->text ?: "", &disk), *dropin = name_disk(row->dropin ?: "", &disk),
                        *source = name_disk(row->source ?: "DISKp1", &disk), *other = name_disk("DISKp2", &disk),
                        *needle = name_disk(row->needle ?: "", &disk), *target = make_target("host-use"),
                        *there = make_target("there");
        write_host_file(row->file, text);
        if (row->mounted)
                must(mount(other, row->mounted, "ext4", 0, NULL));
        if (row->swap) {
                g_assert_true(run("mkswap", "-q", "-f", other, NULL));
                must(swapon(other, 0));
        }
        g_autoptr(Worker) w = worker_start(dropin, NULL);
        if (row->needle)
                assert_fails(call_observe(w, source, "ext4", target), "PathNotAllowed", needle);
        else
                assert_ok(call_observe(w, source, "ext4", target));
        g_clear_pointer(&w, worker_stop);
        if (row->swap)
                must(swapoff(other));
        if (row->mounted)
                must(umount2(row->mounted, 0));
        drop_host_files();
        disk_detach(&disk);
}

/* A file of sysfs, or one that is mounted, can't be replaced. */
static void write_in_place(const char *path, const char *text) {
        _cleanup_close_ int fd = open_path(path, O_WRONLY | O_TRUNC);

        must(write(fd, text, strlen(text)));
}

/* The child that gets the next call has been forked before. */
TEST(test_changed, "/host-use/changed") {
        static const char unit[] = LATE "efi.mount", drop_in[] = ETC "boot.mount.d/a.conf";
        g_autofree char *target = make_target("changed");
        Disk disk;

        disk_attach(&disk);
        write_host_file(NULL, NULL);
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *source = name_disk("DISKp1", &disk), *line = name_disk("DISKp1 /boot ext4\n", &disk),
                        *what = name_disk("[Mount]\nWhat=DISKp1\n", &disk);
        for (unsigned i = 0; i < 3; i++) {
                assert_ok(call_observe(w, source, "ext4", target));
                if (i == 0)
                        write_in_place(FSTAB, line);
                else
                        file_write(i == 1 ? unit : drop_in, what);
                assert_fails(call_observe(w, source, "ext4", target), "PathNotAllowed", "is the host's");
                if (i == 0)
                        write_in_place(FSTAB, "");
                else
                        must(unlink(i == 1 ? unit : drop_in));
        }
        g_clear_pointer(&w, worker_stop);
        drop_host_files();
        disk_detach(&disk);
}

/* A unit is masked, or gets the type selvol, by a file in another directory. */
TEST(test_layers, "/host-use/layers") {
        static const char drop_in[] = ETC "efi.mount.d/a.conf", mask[] = ETC "efi.mount";
        g_autofree char *target = make_target("layers");
        Disk disk;

        disk_attach(&disk);
        g_autofree char *source = name_disk("DISKp1", &disk), *what = name_disk("[Mount]\nWhat=DISKp1\n", &disk);
        write_host_file(LATE "efi.mount", what);
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        assert_fails(call_observe(w, source, "ext4", target), "PathNotAllowed", "is the host's");
        file_write(drop_in, "[Mount]\nType=selvol\n");
        assert_ok(call_observe(w, source, "ext4", target));
        file_write(drop_in, what);
        assert_fails(call_observe(w, source, "ext4", target), "PathNotAllowed", "is the host's");
        must(symlink("/dev/null", mask));
        must(symlink("loop.mount", ETC "loop.mount"));
        assert_ok(call_observe(w, source, "ext4", target));
        g_clear_pointer(&w, worker_stop);
        drop_host_files();
        disk_detach(&disk);
}

/* A unit that can't be read may name any device. */
TEST(test_unread, "/host-use/unread") {
        static const char unit[] = LATE "efi.mount";
        g_autofree char *image = make_image("unread", "ext4"), *target = make_target("unread"), *device = NULL;
        int loop;

        write_host_file(unit, "[Mount]\nWhat=/dev/other\n");
        device = attach_loop(image, &loop);
        g_autoptr(Worker) w = worker_start_traced_at(unit, "inject=openat:error=EACCES");
        if (w)
                assert_fails(call_observe(w, device, "ext4", target), "WorkerFailed", unit);
        g_clear_pointer(&w, worker_stop);
        close(loop);
        drop_host_files();
}

/* mkfs.vfat makes a partition table on a whole disk. */
TEST(test_vfat, "/host-use/vfat") {
        g_autofree char *target = make_target("vfat");
        Disk disk;

        disk_attach(&disk);
        g_assert_true(run("partx", "-d", disk.device, NULL));
        g_assert_true(run("mkfs.vfat", "-I", "--mbr=y", disk.device, NULL));
        g_assert_true(run("addpart", disk.device, "1", "8", "90000", NULL));
        write_host_file(NULL, NULL);
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        assert_ok(call_observe(w, disk.device, "vfat", target));
        g_clear_pointer(&w, worker_stop);
        drop_host_files();
        disk_detach(&disk);
}

/* A disk with one partition, and one whose table is not known. */
TEST(test_alone, "/host-use/alone") {
        g_autofree char *target = make_target("alone");
        Disk disk;

        disk_attach(&disk);
        g_autofree char *source = name_disk("DISKp1", &disk), *link = make_link("alone", source);
        g_assert_true(run("partx", "-d", "--nr", "2:4", disk.device, NULL));
        write_host_file(NULL, NULL);
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        assert_ok(call_observe(w, link, "ext4", target));
        g_assert_true(run("wipefs", "-qaf", disk.device, NULL));
        assert_fails(call_observe(w, link, "ext4", target), "PathNotAllowed", "SourcesOnHostDisk=");
        g_clear_pointer(&w, worker_stop);
        must(unlink(link));
        drop_host_files();
        disk_detach(&disk);
}

/* --- images and devices that are no part of a disk --- */

/* A device that is no loop device and has no partitions, or NULL if the kernel has none. */
static char *zram_make(unsigned *ret_number) {
        g_autofree char *number = NULL, *size = NULL, *device = NULL;

        if (!g_file_get_contents("/sys/class/zram-control/hot_add", &number, NULL, NULL)) {
                g_test_skip("The kernel has no zram.");
                return NULL;
        }
        *ret_number = (unsigned) strtoul(number, NULL, 10);
        size = path_printf("/sys/block/zram%u/disksize", *ret_number);
        device = path_printf("/dev/zram%u", *ret_number);
        write_in_place(size, "32M");
        g_assert_true(run("mkfs.ext4", "-q", device, NULL));
        return g_steal_pointer(&device);
}

static void zram_remove(unsigned number) {
        g_autofree char *text = g_strdup_printf("%u", number);

        write_in_place("/sys/class/zram-control/hot_remove", text);
}

/* Each "DEVICE" is the device. */
typedef struct ListRow {
        const char *name, *source_devices, *needle;
} ListRow;

static const ListRow list_rows[] = {
        { "empty", "", "add SourceDevices=DEVICE under [Worker]" },
        { "other", "/dev/selvol-none /dev/loop*", "add SourceDevices=DEVICE under" },
        { "name", "DEVICE", NULL },
        { "pattern", "/dev/zra[m]*", NULL },
        { "link", "/dev/selvol-none LINK", NULL },
};

TEST_ROWS(test_listed, "/host-use/listed", list_rows, row) {
        unsigned number;
        g_autofree char *device = zram_make(&number), *target = make_target("listed");

        if (!device)
                return;
        const Disk disk = { .device = device };
        g_autofree char *link = make_link("listed", device);
        g_auto(GStrv) parts = g_strsplit(row->source_devices, "LINK", -1);
        g_autofree char *linked = g_strjoinv(link, parts), *list = NULL, *needle = NULL, *dropin = NULL;
        g_auto(GStrv) listed = g_strsplit(linked, "DEVICE", -1), said = g_strsplit(row->needle ?: "", "DEVICE", -1);

        list = g_strjoinv(disk.device, listed);
        needle = g_strjoinv(disk.device, said);
        dropin = g_strdup_printf("[Worker]\nSourceDevices=%s\n", list);
        g_autoptr(Worker) w = worker_start(dropin, NULL);
        /* The link is another name of what is listed, or of what is not. */
        for (unsigned i = 0; i < 2; i++) {
                const Arguments user = volume_at(i == 0 ? device : link, "ext4", target, .by_user = true,
                                                 .only_plan = true),
                                root = volume_at(i == 0 ? device : link, "ext4", target, .only_plan = true);

                if (row->needle && i == 0)
                        assert_fails(call_mount(w, &user), "PathNotAllowed", needle);
                else if (row->needle)
                        assert_fails(call_mount(w, &user), "PathNotAllowed", "SourceDevices=");
                else
                        assert_ok(call_mount(w, &user));
                assert_ok(call_mount(w, &root));
        }
        g_clear_pointer(&w, worker_stop);
        must(unlink(link));
        zram_remove(number);
}

/* kubelet keeps a loop device on a raw block volume, over a name of its own. */
TEST(test_raw, "/host-use/raw") {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        unsigned number;
        g_autofree char *device = zram_make(&number), *target = make_target("raw"),
                        *name = path_printf(TEST_DIR "/raw");

        if (!device)
                return;
        g_assert_true(g_file_set_contents(name, "", -1, NULL));
        must(mount(device, name, NULL, MS_BIND, NULL));
        for (unsigned i = 0; i < 2; i++) {
                int fd;
                g_autofree char *loop = attach_loop(i == 0 ? name : device, &fd);

                assert_fails(call_observe(w, device, "ext4", target), "PathNotAllowed", loop);
                assert_fails(call_observe(w, loop, "ext4", target), "PathNotAllowed", "raw device");
                close(fd);
        }
        assert_ok(call_observe(w, device, "ext4", target));
        must(umount2(name, 0));
        zram_remove(number);
}

/* A loop device is judged by its image. */
typedef struct ImageRow {
        const char *name, *directory;
        uid_t owner;
        mode_t mode;
        const char *dropin, *of_root, *of_user; /* the needles; NULL: allowed */
} ImageRow;

#define OUTSIDE TEST_DIR "/elsewhere"
#define OTHERS  "[Worker]\nImagesOfOthers=yes\n"

static const ImageRow image_rows[] = {
        { "source", TEST_IMAGES, 0, 0600, NULL, NULL, NULL },
        { "source/of-others", TEST_IMAGES, 1000, 0600, NULL, "others than root can change", "changed by others" },
        { "source/group", TEST_IMAGES, 0, 0620, NULL, "others than root can change", "changed by others" },
        { "source/allowed", TEST_IMAGES, 1000, 0600, OTHERS, NULL, NULL },
        { "target", TEST_TARGETS "/a", 0, 0600, NULL, "beneath TargetRoots=", "SourceRoots=" },
        { "outside", OUTSIDE, 0, 0600, NULL, NULL, "SourceRoots=" },
        { "outside/of-others", OUTSIDE, 1000, 0600, NULL, "ImagesOfOthers=yes", "SourceRoots=" },
        { "outside/allowed", OUTSIDE, 1000, 0600, OTHERS, NULL, "SourceRoots=" },
};

static void assert_allowed(const Worker *w, const Arguments *a, const char *needle) {
        if (needle)
                assert_fails(call_mount(w, a), "PathNotAllowed", needle);
        else
                assert_ok(call_mount(w, a));
}

TEST_ROWS(test_image, "/host-use/image", image_rows, row) {
        g_autofree char *made = make_image("judged", "ext4"), *image = path_printf("%s/judged", row->directory),
                        *target = make_target("judged"), *device = NULL;
        g_autoptr(Worker) w = worker_start(row->dropin, NULL);
        int loop;

        g_assert_cmpint(g_mkdir_with_parents(row->directory, 0755), ==, 0);
        must(rename(made, image));
        device = attach_loop(image, &loop);
        must(chown(image, row->owner, 0));
        must(chmod(image, row->mode));
        assert_allowed(w, &volume_at(device, "ext4", target, .only_plan = true), row->of_root);
        assert_allowed(w, &volume_at(device, "ext4", target, .only_plan = true, .by_user = true), row->of_user);
        /* Another file has its name now. */
        must(unlink(image));
        g_assert_true(g_file_set_contents(image, "", -1, NULL));
        assert_allowed(w, &volume_at(device, "ext4", target, .only_plan = true), row->dropin ? NULL : "(deleted)");
        close(loop);
        must(unlink(image));
}

/* The worker looks at the image of a loop device, while others detach it to attach another one. */
TEST(test_reattached, "/host-use/reattached") {
        g_autofree char *image = make_image("judged", "ext4"), *other = make_image("other", "ext4"),
                        *target = make_target("reattached"), *device = NULL;
        g_autoptr(Worker) w = worker_start_traced_at(image, "inject=newfstatat:delay_enter=1000000");
        _cleanup_close_ int file = open_path(other, O_RDWR), again = -EBADF;
        const struct loop_config config = { .fd = (guint32) file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
        int loop;

        if (!w)
                return;
        device = attach_loop(image, &loop);
        again = open_path(device, O_RDWR);
        Operation *o = operation_start(w, WORKER_MOUNT, &volume_at(device, "ext4", target, .only_plan = true));
        WAIT_FOR(file_count_lines(WORKER_TRACE, "*judged*") > 0);
        close(loop);
        close(again);
        again = open_path(device, O_RDWR);
        g_assert_cmpint(ioctl(again, LOOP_CONFIGURE, &config), <, 0);
        g_assert_cmpint(errno, ==, EBUSY);
        assert_ok(operation_finish(o));
}

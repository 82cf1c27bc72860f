/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "mount/on-disk.h"
#include "volumes.h"

/* The path of a volume that nobody has mounted leads to another disk. The worker changes the files of the
 * volume wherever it is, and those of no other disk. */

enum { A, B, COPY_OF_A, EMPTY, DISKS, NOWHERE };

typedef struct Disk {
        char *image, *device;
        int loop;
        Identity identity;
} Disk;

/* The disks to which the recorded path, the device's own link and udev's link for A's UUID lead. */
typedef struct Row {
        const char *name;
        unsigned path, own, by_uuid;
        const char *kind;
        unsigned changed; /* DISKS: none */
        unsigned named;   /* in the message, besides A; DISKS: none */
} Row;

static const Row rows[] = {
        { "same", A, NOWHERE, NOWHERE, "ok", A, DISKS },
        { "swapped", B, NOWHERE, NOWHERE, "SourceChanged", DISKS, B },
        { "swapped/own-link", B, A, NOWHERE, "ok", A, DISKS },
        { "swapped/by-uuid", B, NOWHERE, A, "ok", A, DISKS },
        { "swapped/own-link-too", B, B, NOWHERE, "SourceChanged", DISKS, B },
        { "formatted", EMPTY, EMPTY, NOWHERE, "SourceChanged", DISKS, DISKS },
        { "gone", NOWHERE, NOWHERE, NOWHERE, "InvalidVolume", DISKS, DISKS },
        { "gone/by-uuid", NOWHERE, NOWHERE, A, "ok", A, DISKS },
        { "copy", A, NOWHERE, COPY_OF_A, "SourceChanged", DISKS, COPY_OF_A },
        { "copy/own-link", A, A, COPY_OF_A, "ok", A, DISKS },
        { "copy/at-the-path", COPY_OF_A, A, NOWHERE, "SourceChanged", DISKS, COPY_OF_A },
};

static Disk disks[DISKS];

static bool make_disks(const char *fs_type) {
        for (unsigned i = 0; i < DISKS; i++) {
                g_autofree char *name = path_printf("moved-%u", i);
                _cleanup_close_ int fd = -EBADF;
                Disk *d = &disks[i];

                if (i == COPY_OF_A) {
                        d->image = path_printf(TEST_IMAGES "/%s", name);
                        g_assert_true(run("cp", "--sparse=always", disks[A].image, d->image, NULL));
                } else if (i == EMPTY)
                        d->image = make_image(name, NULL);
                else {
                        g_autoptr(TestVolume) v = volume_mount(name, fs_type, 0);

                        if (!v)
                                return false;
                        (void) fill_tree(v->target, 1, 2);
                        d->image = g_strdup(v->image);
                }
                fd = open_path(d->image, O_RDONLY);
                d->identity = identity_read(fd, fs_type);
                d->device = attach_loop(d->image, &d->loop);
        }
        return true;
}

static void free_disks(void) {
        for (Disk *d = disks; d < disks + DISKS; d++) {
                close(d->loop);
                g_free(d->image);
                g_free(d->device);
        }
}

/* The links are in the host's /dev, too. */
static char *lead(const char *path, unsigned disk) {
        g_autofree char *directory = g_path_get_dirname(path);

        must(g_mkdir_with_parents(directory, 0755));
        if (disk != NOWHERE)
                must(symlink(disks[disk].device, path));
        return g_strdup(path);
}

static void unlink_and_free(char *path) {
        g_autofree char *directory = g_path_get_dirname(path);

        (void) unlink(path);
        if (!g_str_equal(directory, "/dev"))
                (void) rmdir(directory);
        g_free(path);
}

static unsigned count_changed(const Disk *d, const char *fs_type) {
        g_autofree char *target = make_target("moved-look");
        unsigned n;

        must(mount(d->device, target, fs_type, MS_RDONLY, NULL));
        n = count_labeled(target, LABEL_1);
        must(umount2(target, 0));
        return n;
}

static void check_row(const Row *row, const char *fs_type) {
        g_autofree char *uuid = identity_uuid(&disks[A].identity),
                        *by_uuid = path_printf("/dev/disk/by-uuid/%s", uuid),
                        *name = path_printf("/dev/selvol-test-%i-moved", (int) getpid()),
                        *id = path_printf("/dev/disk/by-id/selvol-test-%i", (int) getpid());
        char *path = lead(name, row->path), *own = lead(id, row->own), *udev = lead(by_uuid, row->by_uuid);

        g_test_message("%s", row->name);
        g_auto(Answer) a = call_change(worker, &(Arguments){ .source = path,
                                                             .fs_type = fs_type,
                                                             .target = "",
                                                             .file_system = disks[A].identity,
                                                             .link = own,
                                                             .files = wanted_labels(LABEL_1) });
        unlink_and_free(path);
        unlink_and_free(own);
        unlink_and_free(udev);
        (void) rmdir("/dev/disk");

        assert_answer(a, row->kind);
        if (g_str_equal(row->kind, "SourceChanged")) {
                assert_message(a, uuid);
                assert_message(a, row->named == B           ? strchr(disks[B].identity.text, ':') + 1
                                  : row->named == COPY_OF_A ? disks[COPY_OF_A].device
                                                            : "none with a UUID");
        }
        for (unsigned i = A; i < EMPTY; i++)
                if ((count_changed(&disks[i], fs_type) > 0) != (row->changed == i))
                        g_error("%s: disk %u", row->name, i);
}

static void test_moved(gconstpointer data) {
        const char *fs_type = data;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                if (make_disks(fs_type))
                        check_row(&rows[i], fs_type);
                free_disks();
        }
}

/* A copy is mounted beside its original where the kernel can do that, as a file system of its own. */
static void test_copies(gconstpointer data) {
        const char *fs_type = data, *const options = g_str_equal(fs_type, "xfs") ? "nouuid" : NULL;
        g_autofree char *one = make_target("copy-1"), *two = make_target("copy-2");

        if (!make_disks(fs_type)) {
                free_disks();
                return;
        }
        g_auto(Answer) first = expect_ok(mount_with(worker, disks[A].image, fs_type, one));
        if (options)
                assert_fails(mount_with(worker, disks[COPY_OF_A].image, fs_type, two), "MountFailed", one, "nouuid",
                             "xfs_admin -U generate");
        g_auto(Answer) second = mount_with(worker, disks[COPY_OF_A].image, fs_type, two, .options = options);
        /* Before Linux 6.7. */
        if (g_str_equal(fs_type, "btrfs") && !g_str_equal(second.kind, "ok")) {
                assert_answer(second, "MountFailed");
                assert_message(second, "btrfstune -m");
        } else {
                assert_answer(second, "ok");
                g_assert_cmpstr(first.outcome.identity.text, ==, second.outcome.identity.text);
                g_assert_cmpstr(first.question.observed.superblock, !=, second.question.observed.superblock);
                g_assert_cmpuint(second.question.observed.n_mounts, ==, 0);
                /* The mount table leads to the same names. */
                g_auto(Answer) adopted =
                        expect(call_adopt(worker, &(Arguments){ .target = two, .step = PLAN_STOP }), "gone");
                g_assert_cmpstr(adopted.question.observed.superblock, ==, second.question.observed.superblock);
                g_assert_cmpstr(adopted.question.outcome.identity.text, ==, first.outcome.identity.text);
                must(umount2(two, 0));
        }
        must(umount2(one, 0));
        free_disks();
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
        add_words("/moved", test_moved, "ext4", "xfs", "btrfs", NULL);
        add_words("/copies", test_copies, "ext4", "xfs", "btrfs", NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "volumes.h"

/* The worker skips the files only if nobody else has mounted the volume since the mark was written. The test
 * keeps the fingerprint in selvold's place. */

typedef struct Disk {
        const char *fs_type;
        char *image, *target, *hand; /* the worker mounts at target, and the test at hand */
        int loop;                    /* the test's loop device */
        Fingerprint kept;
        unsigned n_files;
} Disk;

static void disk_done(Disk *d) {
        g_free(d->image);
        g_free(d->target);
        g_free(d->hand);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Disk, disk_done)

static Arguments of_disk(const Disk *d) {
        Arguments a =
                volume_at(d->image, d->fs_type, d->target, .files = wanted_group(1000), .history.kept = d->kept);

        a.files.context = (char *) LABEL_1;
        return a;
}

static Answer mount_disk(const Disk *d) {
        const Arguments a = of_disk(d);

        return call_mount(worker, &a);
}

/* selvold keeps the fingerprint of a volume that was right. */
static void unmount_disk(Disk *d, const Answer *mounted) {
        g_auto(Answer) a = call_unmount_of(worker, d->target, mount_id_of(d->target), d->image, d->fs_type);

        assert_answer(a, "ok");
        g_assert_true(a.unmounted);
        d->kept = g_str_equal(mounted->fingerprint.text, FINGERPRINT_MOUNTED) ? a.fingerprint : (Fingerprint){ 0 };
}

static void assert_skipped_at(int line, const Answer *a) {
        if (!g_str_equal(a->kind, "ok") || a->walked || a->files.relabel_reason != RELABEL_REASON_COMPLETE ||
            a->files.ownership_reason != OWNERSHIP_COMPLETE)
                g_error("line %i: %s, walked %i, %s, %s", line, a->kind, a->walked,
                        relabel_reason_to_string(a->files.relabel_reason),
                        ownership_reason_to_string(a->files.ownership_reason));
}
#define assert_skipped(a) assert_skipped_at(__LINE__, a)

static void assert_walked_at(int line, const Answer *a, const char *reason, unsigned changed) {
        if (!g_str_equal(a->kind, "ok") || !a->walked ||
            g_strcmp0(relabel_reason_to_string(a->files.relabel_reason), reason) != 0 ||
            g_strcmp0(ownership_reason_to_string(a->files.ownership_reason), reason) != 0 ||
            a->walk.counts.changed != changed)
                g_error("line %i: %s, walked %i, %s, %s, changed %" G_GUINT64_FORMAT, line, a->kind, a->walked,
                        relabel_reason_to_string(a->files.relabel_reason),
                        ownership_reason_to_string(a->files.ownership_reason), a->walk.counts.changed);
}
#define assert_walked(a, reason, changed) assert_walked_at(__LINE__, a, reason, changed)

/* Makes a disk with right files and a mark that says so. Returns false if the machine has no mkfs. */
static bool disk_make(Disk *d, const char *fs_type) {
        g_autoptr(TestVolume) prepared = volume_mount("elsewhere", fs_type, 0);

        *d = (Disk){ .fs_type = fs_type };
        if (!prepared)
                return false;
        d->n_files = fill_tree(prepared->target, 3, 4);
        d->image = g_strdup(prepared->image);
        d->target = make_target("elsewhere-mounted");
        d->hand = make_target("by-hand");
        g_clear_pointer(&prepared, volume_unmount);

        g_auto(Answer) first = mount_disk(d);
        assert_walked(&first, "unknown", d->n_files);
        g_assert_cmpstr(first.fingerprint.text, ==, g_str_equal(fs_type, "ext4") ? "" : FINGERPRINT_MOUNTED);
        unmount_disk(d, &first);
        return true;
}

static void expect_skip(Disk *d) {
        g_auto(Answer) a = mount_disk(d);

        assert_skipped(&a);
        unmount_disk(d, &a);
}

static void expect_walk_for(Disk *d, const char *reason, unsigned changed) {
        g_auto(Answer) a = mount_disk(d);

        assert_walked(&a, reason, changed);
        g_assert_cmpuint(count_labeled(d->target, LABEL_1), ==, d->n_files);
        unmount_disk(d, &a);
}

/* The worker skips the files again after the walk. */
static void expect_walk(Disk *d, unsigned changed) {
        expect_walk_for(d, "mounted-elsewhere", changed);
        expect_skip(d);
}

static bool keeps_in_mark(const Disk *d) {
        return g_str_equal(d->fs_type, "ext4");
}

static void mount_by_hand(Disk *d, unsigned long flags) {
        g_autofree char *device = attach_loop(d->image, &d->loop);

        must(mount(device, d->hand, d->fs_type, flags, NULL));
}

static void change_label(const Disk *d) {
        g_autofree char *file = path_printf("%s/dir-1/file-2", d->hand);

        set_label(file, LABEL_2);
}

static void unmount_by_hand(const Disk *d) {
        must(umount2(d->hand, 0));
        close(d->loop);
}

static void change_by_hand(Disk *d) {
        mount_by_hand(d, 0);
        change_label(d);
        unmount_by_hand(d);
}

/* Copies the disk while it is mounted. The copy is as the disk would be after a loss of power. */
static void copy_image(const Disk *d, const char *mounted_at) {
        g_autofree char *copy = path_printf("%s-copy", d->image);
        _cleanup_close_ int fd = open_directory(mounted_at);

        must(syncfs(fd));
        g_assert_true(run("cp", "--sparse=always", d->image, copy, NULL));
}

static void take_copy(const Disk *d) {
        g_autofree char *copy = path_printf("%s-copy", d->image);

        must(rename(copy, d->image));
}

/* --- the worker skips the files --- */

static void test_clean(Disk *d) {
        for (unsigned i = 0; i < 3; i++)
                expect_skip(d);
}

/* A read-only mount leaves the disk as it was, but xfs may write when it is unmounted. */
static void test_read_only(Disk *d) {
        mount_by_hand(d, MS_RDONLY);
        unmount_by_hand(d);
        if (!g_str_equal(d->fs_type, "xfs"))
                expect_skip(d);
}

/* A read-only mount of selvol's writes nothing either. The worker skips the files for a writer beside it. */
static void test_reader(Disk *d) {
        g_autofree char *second = NULL;
        Arguments a = of_disk(d);

        a.read_only = true;
        g_auto(Answer) reader = call_mount(worker, &a);
        assert_skipped(&reader);
        g_assert_true(reader.outcome.superblock_read_only);

        /* The second mount makes the file system writable. */
        second = make_target("elsewhere-second");
        a = of_disk(d);
        a.target = second;
        a.share = d->target;
        a.share_id = mount_id_of(d->target);
        a.history.alive = true;
        g_auto(Answer) writer = call_mount(worker, &a);
        assert_skipped(&writer);
        g_assert_false(writer.outcome.superblock_read_only);
        must(umount2(second, 0));
        unmount_disk(d, &reader);
        expect_skip(d);
}

/* The mount of a reader shows another group, so a writer can't share it. The superblock is made writable. */
static void test_mapped_reader(Disk *d) {
        const gid_t groups[] = { 1000, 3000, GID_NONE };
        g_autofree char *second = make_target("elsewhere-second"), *file = path_printf("%s/dir-0/file-0", d->target);
        Arguments a;

        for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
                a = of_disk(d);
                a.read_only = true;
                a.files = wanted_group(2000);
                a.files.ownership = OWNERSHIP_MAP;
                g_auto(Answer) reader = expect_ok(call_mount(worker, &a));
                g_assert_true(reader.outcome.idmapped);

                a = of_disk(d);
                a.target = second;
                a.files = groups[i] == GID_NONE ? FILES_WANTED_INIT : wanted_group(groups[i]);
                a.history.alive = true;
                g_auto(Answer) writer = expect_ok(call_mount(worker, &a));
                g_assert_false(writer.outcome.superblock_read_only);
                g_assert_false(writer.walked);
                g_assert_cmpint(writer.outcome.idmapped, ==, groups[i] == 3000);
                must(access(second, W_OK));
                g_assert_cmpint(open(file, O_RDWR), <, 0);
                g_assert_cmpint(errno, ==, EROFS);
                must(umount2(second, 0));
                unmount_disk(d, &reader);
        }
        /* Somebody else may rely on a file system that is read-only. btrfs itself makes it writable. */
        if (g_str_equal(d->fs_type, "btrfs"))
                return;
        mount_by_hand(d, MS_RDONLY);
        a = of_disk(d);
        a.target = second;
        assert_fails(call_mount(worker, &a), "MountFailed", "is mounted read-only at", d->hand);
        unmount_by_hand(d);
}

/* Another node with selvol has no fingerprint but the one in the mark. */
static void test_other_node(Disk *d) {
        d->kept = (Fingerprint){ 0 };
        if (keeps_in_mark(d))
                expect_skip(d);
        else
                expect_walk(d, 0);
}

static void test_power_cut(Disk *d) {
        g_auto(Answer) mounted = mount_disk(d);
        assert_skipped(&mounted);
        copy_image(d, d->target);
        unmount_disk(d, &mounted);
        take_copy(d);
        test_other_node(d);
}

/* ext4 has counted the mount, which failed later. */
static void test_failed(Disk *d) {
        const Reliance other = { .gid = 2000, .use = (char *) "another holder", .end = (char *) "Stop it" };
        Arguments a = of_disk(d);

        a.files.force = true;
        a.reliances = &other;
        a.n_reliances = 1;
        assert_fails(call_mount(worker, &a), "GroupConflict");
        if (keeps_in_mark(d))
                expect_skip(d);
}

/* The worker mounts the volume only for a Relabel or an ApplyOwnership, as nobody has it mounted. */
static void test_change(Disk *d) {
        Arguments a = of_disk(d);

        a.target = "";
        a.files.force = true;
        g_auto(Answer) changed = call_change(worker, &a);
        assert_walked(&changed, "forced", 0);
        d->kept = changed.fingerprint;
        expect_skip(d);
        a.files.force = false;
        a.history.kept = d->kept;
        g_auto(Answer) skipped = call_change(worker, &a);
        assert_skipped(&skipped);
        d->kept = skipped.fingerprint;
        expect_skip(d);
}

/* --- the worker walks --- */

static void test_by_hand(Disk *d) {
        change_by_hand(d);
        expect_walk(d, 1);
}

/* A new file has no label and no group, as through a mount with context=. */
static void test_new_file(Disk *d) {
        g_autofree char *file = path_printf("%s/dir-0/new", d->hand);

        mount_by_hand(d, 0);
        must(mknod(file, S_IFREG | 0600, 0));
        unmount_by_hand(d);
        d->n_files++;
        expect_walk(d, 1);
}

/* The node loses power while the disk is mounted by hand. */
static void test_crash(Disk *d) {
        mount_by_hand(d, 0);
        change_label(d);
        copy_image(d, d->hand);
        unmount_by_hand(d);
        take_copy(d);
        expect_walk(d, 1);
}

/* A mount for which the worker does not have to look at the files must not make a later mount skip them. */
static void test_not_laundered(Disk *d) {
        Arguments a = of_disk(d);

        change_by_hand(d);
        a.files = FILES_WANTED_INIT;
        g_auto(Answer) nothing = expect_ok(call_mount(worker, &a));
        g_assert_cmpstr(nothing.fingerprint.text, ==, "");
        unmount_disk(d, &nothing);
        expect_walk(d, 1);

        /* A walk for the group says nothing of labels. */
        change_by_hand(d);
        a = of_disk(d);
        a.files = wanted_group(1000);
        g_auto(Answer) group = expect_ok(call_mount(worker, &a));
        g_assert_cmpint(group.files.ownership_reason, ==, OWNERSHIP_ELSEWHERE);
        assert_mark(d->target, MARK_GROUP("complete", "1000"));
        unmount_disk(d, &group);
        g_auto(Answer) labels = expect_ok(mount_disk(d));
        g_assert_cmpint(labels.files.relabel_reason, ==, RELABEL_REASON_UNKNOWN);
        g_assert_cmpuint(labels.walk.counts.changed, ==, 1);
        unmount_disk(d, &labels);
}

/* cp -a as root copies the mark to another disk, which is not mounted by the worker then, or is. The worker
 * does not believe the mark, whatever the configuration and selvold say. */
static void test_copied(Disk *d) {
        g_autofree char *path = make_target("copied"), *root = path_printf("%s/.", d->hand),
                        *copy = path_printf("%s/.", path), *second = make_target("elsewhere-second");
        Arguments trusted, alive;

        mount_by_hand(d, 0);
        must(mount("copied", path, "tmpfs", 0, NULL));
        g_assert_true(run("cp", "-a", root, path, NULL));
        unmount_by_hand(d);
        g_free(d->image);
        d->image = make_image("elsewhere", d->fs_type);
        mount_by_hand(d, 0);
        g_assert_true(run("cp", "-a", copy, d->hand, NULL));
        change_label(d);
        unmount_by_hand(d);

        trusted = of_disk(d);
        trusted.history.trusted = true;
        g_auto(Answer) a = expect_ok(call_mount(worker, &trusted));
        g_assert_true(a.walked);
        g_assert_cmpstr(relabel_reason_to_string(a.files.relabel_reason), ==, "mounted-elsewhere");

        g_assert_true(run("cp", "-a", copy, d->target, NULL));
        alive = trusted;
        alive.target = second;
        alive.share = d->target;
        alive.share_id = mount_id_of(d->target);
        alive.history.alive = true;
        g_auto(Answer) b = expect_ok(call_mount(worker, &alive));
        g_assert_true(b.walked);
        g_assert_cmpstr(relabel_reason_to_string(b.files.relabel_reason), ==, "mounted-elsewhere");
        must(umount2(second, 0));
        must(umount2(path, 0));
        unmount_disk(d, &b);
}

/* Another program has the volume mounted, too. The worker changes the files, but the mark must not say so. */
static void test_beside(Disk *d) {
        Arguments a = of_disk(d);

        a.history.beside = true;
        a.change = MARK_RESET_ALL;
        g_auto(Answer) mounted = call_mount(worker, &a);
        assert_walked(&mounted, "mounted-elsewhere", 0);
        assert_mark(d->target, MARK_NOTHING);
        unmount_disk(d, &mounted);
        expect_walk_for(d, "unknown", 0);
}

/* The watch saw another program, whose mount is gone. The worker does not trust the mark until a walk. */
static void test_seen(Disk *d) {
        Arguments a = of_disk(d);

        a.history.elsewhere = true;
        g_auto(Answer) mounted = call_mount(worker, &a);
        assert_walked(&mounted, "mounted-elsewhere", 0);
        unmount_disk(d, &mounted);
        expect_skip(d);
}

/* The administrator has configured that the worker trusts the mark without a fingerprint. */
static void test_trusted(Disk *d) {
        Arguments a = of_disk(d);

        change_by_hand(d);
        a.history.trusted = true;
        g_auto(Answer) mounted = expect_ok(call_mount(worker, &a));
        g_assert_false(mounted.walked);
        g_assert_cmpstr(relabel_reason_to_string(mounted.files.relabel_reason), ==, "trusted-mark");
        g_assert_cmpstr(ownership_reason_to_string(mounted.files.ownership_reason), ==, "trusted-mark");
        unmount_disk(d, &mounted);
}

/* The worker does not believe a mark of an earlier version. */
static void test_old_mark(void) {
        static const char old[] = "version=1 label=complete tainted=no ownership=complete gid=1000 context=" LABEL_1;
        g_auto(Disk) d = { 0 };

        g_assert_true(disk_make(&d, "ext4"));
        g_auto(Answer) mounted = mount_disk(&d);
        assert_skipped(&mounted);
        set_mark_bytes(d.target, old, strlen(old));
        unmount_disk(&d, &mounted);
        expect_walk_for(&d, "unknown", 0);
        expect_skip(&d);
}

/* --- adopting --- */

static Answer adopt_disk(const Disk *d) {
        const Arguments a = of_disk(d), adopted = { .target = d->hand, .files = a.files, .history = a.history };

        return call_adopt(worker, &adopted);
}

/* The fingerprint tells of one more mount since, which is that of the driver. */
static void test_adopt(Disk *d) {
        mount_by_hand(d, 0);
        g_auto(Answer) first = adopt_disk(d);
        assert_skipped(&first);
        g_assert_cmpstr(first.fingerprint.text, ==, g_str_equal(d->fs_type, "ext4") ? "" : FINGERPRINT_MOUNTED);
        g_auto(Answer) again = adopt_disk(d);
        assert_skipped(&again);
        unmount_by_hand(d);

        mount_by_hand(d, 0);
        if (!keeps_in_mark(d))
                d->kept = mark_history_of(d->image, d->fs_type).kept;
        g_auto(Answer) next = adopt_disk(d);
        assert_skipped(&next);
        unmount_by_hand(d);

        /* Another program has changed a label before the driver has mounted the volume. */
        change_by_hand(d);
        mount_by_hand(d, 0);
        g_auto(Answer) other = adopt_disk(d);
        assert_walked(&other, "mounted-elsewhere", 1);
        unmount_by_hand(d);
}

/* A process changes a label through the driver's mount, and the worker sees that on the disk. */
static void test_adopt_used(Disk *d) {
        mount_by_hand(d, 0);
        change_label(d);
        g_auto(Answer) a = adopt_disk(d);
        assert_walked(&a, "mounted-elsewhere", 1);
        unmount_by_hand(d);
}

typedef struct Case {
        const char *fs_type;
        void (*test)(Disk *d);
} Case;

static void test_case(gconstpointer data) {
        const Case *c = data;
        g_auto(Disk) d = { 0 };

        if (disk_make(&d, c->fs_type))
                c->test(&d);
}

static void add(const char *name, void (*test)(Disk *d), bool on_ext4) {
        static const char *const fs_types[] = { "ext4", "xfs", "btrfs" };
        static Case cases[64];
        static unsigned n;

        for (size_t i = on_ext4 ? 0 : 1; i < G_N_ELEMENTS(fs_types); i++) {
                g_autofree char *path = path_printf("/elsewhere/%s/%s", name, fs_types[i]);

                g_assert_cmpuint(n, <, G_N_ELEMENTS(cases));
                cases[n] = (Case){ fs_types[i], test };
                g_test_add_data_func(path, &cases[n++], test_case);
        }
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
        add("clean", test_clean, true);
        add("read-only", test_read_only, true);
        add("reader", test_reader, true);
        add("mapped-reader", test_mapped_reader, true);
        add("other-node", test_other_node, true);
        add("power-cut", test_power_cut, true);
        add("failed", test_failed, true);
        add("change", test_change, true);
        add("by-hand", test_by_hand, true);
        add("new-file", test_new_file, true);
        add("crash", test_crash, true);
        add("not-laundered", test_not_laundered, true);
        add("copied", test_copied, true);
        add("beside", test_beside, true);
        add("seen", test_seen, true);
        add("trusted", test_trusted, true);
        add("adopt", test_adopt, true);
        add("adopt-used", test_adopt_used, false);
        g_test_add_func("/elsewhere/old-mark", test_old_mark);
}

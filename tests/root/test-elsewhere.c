/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "volumes.h"

/* A skip is believed only if nobody else had the volume since the mark was written. The test keeps what selvold would. */

typedef struct Disk {
        const char *fs_type;
        char *image, *target, *hand; /* where the volume is mounted, and where by hand */
        Fingerprint kept;
        unsigned n_files;
} Disk;

static void disk_done(Disk *d) {
        g_free(d->image);
        g_free(d->target);
        g_free(d->hand);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Disk, disk_done)

static FilesWanted wanted_both(void) {
        FilesWanted w = wanted_group(1000);

        w.context = (char *) LABEL_1;
        return w;
}

static Arguments of_disk(const Disk *d) {
        return (Arguments){ .source = d->image,
                            .fs_type = d->fs_type,
                            .target = d->target,
                            .files = wanted_both(),
                            .history = { .kept = d->kept } };
}

static Answer mount_disk(const Disk *d) {
        const Arguments a = of_disk(d);

        return call_mount(worker, &a);
}

/* As selvold, which keeps what the worker says of a volume that was right. */
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

/* A disk, all files of which are right and known to be; NULL if there is no mkfs for the type. */
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

/* It is walked over, and is right again then. */
static void expect_walk(Disk *d, unsigned changed) {
        g_auto(Answer) a = mount_disk(d);

        assert_walked(&a, "mounted-elsewhere", changed);
        g_assert_cmpuint(count_labeled(d->target, LABEL_1), ==, d->n_files);
        unmount_disk(d, &a);
        expect_skip(d);
}

static bool keeps_in_mark(const Disk *d) {
        return g_str_equal(d->fs_type, "ext4");
}

/* A disk mounted by hand. */
typedef struct Hand {
        const Disk *disk;
        int loop;
} Hand;

static Hand mount_by_hand(const Disk *d, unsigned long flags) {
        Hand h = { .disk = d };
        g_autofree char *device = attach_loop(d->image, &h.loop);

        must(mount(device, d->hand, d->fs_type, flags, NULL));
        return h;
}

static void change_label(const Hand *h) {
        g_autofree char *file = path_printf("%s/dir-1/file-2", h->disk->hand);

        set_label(file, LABEL_2);
}

static void unmount_by_hand(const Hand *h) {
        must(umount2(h->disk->hand, 0));
        close(h->loop);
}

/* A whole visit: mounted, changed and unmounted. */
static void change_by_hand(Disk *d) {
        Hand h = mount_by_hand(d, 0);

        change_label(&h);
        unmount_by_hand(&h);
}

static void sync_at(const char *path) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        must(fd);
        must(syncfs(fd));
        close(fd);
}

/* Goes on with a copy of the disk as it is while it is mounted, as after a loss of power. */
static void copy_image(const Disk *d) {
        g_autofree char *copy = path_printf("%s-copy", d->image);

        g_assert_true(run("cp", "--sparse=always", d->image, copy, NULL));
}

static void take_copy(const Disk *d) {
        g_autofree char *copy = path_printf("%s-copy", d->image);

        must(rename(copy, d->image));
}

/* --- what is believed --- */

static void test_clean(Disk *d) {
        for (unsigned i = 0; i < 3; i++)
                expect_skip(d);
}

/* Looked at by hand, or by a driver, which leaves the disk as it was; xfs may write at such an unmount. */
static void test_read_only(Disk *d) {
        Hand h = mount_by_hand(d, MS_RDONLY);

        unmount_by_hand(&h);
        if (!g_str_equal(d->fs_type, "xfs"))
                expect_skip(d);
}

/* A reader of ours writes nothing either, and a writer is believed next to it and after it. */
static void test_reader(Disk *d) {
        g_autofree char *second = NULL;
        Arguments a = of_disk(d);

        a.read_only = true;
        g_auto(Answer) reader = call_mount(worker, &a);
        assert_skipped(&reader);
        g_assert_true(reader.outcome.superblock_read_only);

        /* Which makes the file system writable. */
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

/* Another node with selvol has only what the disk itself carries. */
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
        sync_at(d->target);
        copy_image(d);
        unmount_disk(d, &mounted);
        take_copy(d);
        test_other_node(d);
}

/* The mount was counted, although nothing came of it. */
static void test_failed(Disk *d) {
        const Reliance other = { .gid = 2000, .who = (char *) "another holder" };
        Arguments a = of_disk(d);

        a.files.force = true;
        a.reliances = &other;
        a.n_reliances = 1;
        assert_fails(call_mount(worker, &a), "GroupConflict");
        if (keeps_in_mark(d))
                expect_skip(d);
}

/* Relabel and ApplyOwnership of what nobody has: it is mounted for that alone. */
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

/* --- what is not --- */

static void test_by_hand(Disk *d) {
        change_by_hand(d);
        expect_walk(d, 1);
}

/* As with context=: what is new has no label and no group. */
static void test_new_file(Disk *d) {
        g_autofree char *file = NULL;
        Hand h = mount_by_hand(d, 0);

        file = path_printf("%s/dir-0/new", d->hand);
        must(mknod(file, S_IFREG | 0600, 0));
        unmount_by_hand(&h);
        d->n_files++;
        expect_walk(d, 1);
}

/* A node that lost power while somebody else had the disk. */
static void test_crash(Disk *d) {
        Hand h = mount_by_hand(d, 0);

        change_label(&h);
        sync_at(d->hand);
        copy_image(d);
        unmount_by_hand(&h);
        take_copy(d);
        expect_walk(d, 1);
}

/* Not only what we are to walk over: what is skipped or not asked for now is not believed later either. */
static void test_not_laundered(Disk *d) {
        Arguments a;

        change_by_hand(d);
        a = of_disk(d);
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

/* cp -a as root copies the mark, too: to another disk, and to a directory of the same one. */
static void test_copied(Disk *d) {
        g_autofree char *path = NULL, *root = NULL;
        Hand h;

        path = make_target("copied");
        root = path_printf("%s/.", d->hand);
        h = mount_by_hand(d, 0);
        must(mount("copied", path, "tmpfs", 0, NULL));
        g_assert_true(run("cp", "-a", root, path, NULL));
        unmount_by_hand(&h);
        g_free(d->image);
        d->image = make_image("elsewhere", d->fs_type);
        h = mount_by_hand(d, 0);
        g_free(root);
        root = path_printf("%s/.", path);
        g_assert_true(run("cp", "-a", root, d->hand, NULL));
        change_label(&h);
        unmount_by_hand(&h);
        must(umount2(path, 0));

        g_auto(Answer) a = expect_ok(mount_disk(d));
        g_assert_true(a.walked);
        g_assert_cmpstr(relabel_reason_to_string(a.files.relabel_reason), ==, "mounted-elsewhere");
        unmount_disk(d, &a);
}

/* Somebody else has it mounted beside us: what is done is done, but nothing is claimed. */
static void test_beside(Disk *d) {
        Arguments a = of_disk(d);

        a.history.beside = true;
        a.change = MARK_RESET_ALL;
        g_auto(Answer) mounted = call_mount(worker, &a);
        assert_walked(&mounted, "mounted-elsewhere", 0);
        assert_mark(d->target, MARK_NOTHING);
        unmount_disk(d, &mounted);
        g_auto(Answer) again = mount_disk(d);
        assert_walked(&again, "unknown", 0);
        unmount_disk(d, &again);
}

/* Configured: believed without. */
static void test_trusted(Disk *d) {
        Arguments a;

        change_by_hand(d);
        a = of_disk(d);
        a.history.trusted = true;
        g_auto(Answer) mounted = expect_ok(call_mount(worker, &a));
        g_assert_false(mounted.walked);
        g_assert_cmpstr(relabel_reason_to_string(mounted.files.relabel_reason), ==, "trusted-mark");
        g_assert_cmpstr(ownership_reason_to_string(mounted.files.ownership_reason), ==, "trusted-mark");
        unmount_disk(d, &mounted);
}

/* A mark of an earlier version says nothing. */
static void test_old_mark(void) {
        static const char old[] = "version=1 label=complete tainted=no ownership=complete gid=1000 context=" LABEL_1;
        g_auto(Disk) d = { 0 };

        g_assert_true(disk_make(&d, "ext4"));
        g_auto(Answer) mounted = mount_disk(&d);
        assert_skipped(&mounted);
        set_mark_bytes(d.target, old, strlen(old));
        unmount_disk(&d, &mounted);
        g_auto(Answer) walked = mount_disk(&d);
        assert_walked(&walked, "unknown", 0);
        unmount_disk(&d, &walked);
        expect_skip(&d);
}

/* --- adopting --- */

static Answer adopt_disk(const Disk *d) {
        const Arguments a = { .target = d->hand, .files = wanted_both(), .history = { .kept = d->kept } };

        return call_adopt(worker, &a);
}

/* A driver has mounted it: that is one mount more, and no other. */
static void test_adopt(Disk *d) {
        Hand h = mount_by_hand(d, 0);

        g_auto(Answer) first = adopt_disk(d);
        assert_skipped(&first);
        g_assert_cmpstr(first.fingerprint.text, ==, g_str_equal(d->fs_type, "ext4") ? "" : FINGERPRINT_MOUNTED);
        g_auto(Answer) again = adopt_disk(d);
        assert_skipped(&again);
        unmount_by_hand(&h);

        /* And the next time; unless somebody else had it before the driver. */
        h = mount_by_hand(d, 0);
        if (!keeps_in_mark(d))
                d->kept = mark_history_of(d->image, d->fs_type).kept;
        g_auto(Answer) next = adopt_disk(d);
        assert_skipped(&next);
        unmount_by_hand(&h);

        change_by_hand(d);
        h = mount_by_hand(d, 0);
        g_auto(Answer) other = adopt_disk(d);
        assert_walked(&other, "mounted-elsewhere", 1);
        unmount_by_hand(&h);
}

/* What somebody does through the driver's mount is on disk when it is looked at. */
static void test_adopt_used(Disk *d) {
        Hand h = mount_by_hand(d, 0);

        change_label(&h);
        g_auto(Answer) a = adopt_disk(d);
        assert_walked(&a, "mounted-elsewhere", 1);
        unmount_by_hand(&h);
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
        add("trusted", test_trusted, true);
        add("adopt", test_adopt, true);
        add("adopt-used", test_adopt_used, false);
        g_test_add_func("/elsewhere/old-mark", test_old_mark);
}

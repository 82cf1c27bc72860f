/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/xattr.h>

#include "volumes.h"

/* The worker changes the mark of a volume before a mount is visible. Anything can be in the mark's place. */

static Answer change_mark(const TestVolume *v, MarkChange change) {
        return call_adopt(worker, &(Arguments){ .target = v->target, .change = change });
}

/* One mount follows the other. */
TEST_DISKS(test_mount, "/mark/mount", "ext4", "xfs", "btrfs") {
        static const struct {
                const char *before; /* NULL: the mark of the row before */
                MarkChange change;
                const char *after;
        } rows[] = {
                { NULL, MARK_KEEP, NULL },
                /* A volume without a mark claims nothing, so the worker writes none. */
                { NULL, MARK_RESET_LABELS, NULL },
                { NULL, MARK_RESET_OWNERSHIP, NULL },
                { NULL, MARK_RESET_ALL, NULL },
                { NULL, MARK_TAINT, MARK_LABELS("unknown", "yes", "") },
                { NULL, MARK_TAINT, MARK_LABELS("unknown", "yes", "") },
                { "label=complete tainted=no ownership=complete gid=5 context=" LABEL_1, MARK_KEEP,
                  "label=complete tainted=no ownership=complete gid=5 context=" LABEL_1 },
                { NULL, MARK_TAINT, "label=complete tainted=yes ownership=complete gid=5 context=" LABEL_1 },
                { NULL, MARK_RESET_LABELS, "label=unknown tainted=yes ownership=complete gid=5 context=" },
                { NULL, MARK_RESET_OWNERSHIP, MARK_LABELS("unknown", "yes", "") },
                { "label=complete tainted=no ownership=partial gid=5 context=" LABEL_1, MARK_RESET_ALL,
                  MARK_NOTHING },
        };
        g_autofree char *image = make_image("marked", fs_type), *target = make_target("marked");
        Arguments a = volume_at(image, fs_type, target);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                if (rows[i].before) {
                        assert_ok(call_mount(worker, &a));
                        set_mark(target, rows[i].before);
                        must(umount2(target, 0));
                }
                a.change = rows[i].change;
                g_auto(Answer) mounted = expect_ok(call_mount(worker, &a));
                assert_mark(target, rows[i].after);
                assert_told(&mounted, target);
                g_assert_cmpint(mounted.mark.found, ==, rows[i].after ? MARK_PRESENT : MARK_ABSENT);
                g_auto(Answer) adopted = expect_ok(call_adopt(worker, &(Arguments){ .target = target }));
                assert_told(&adopted, target);
                must(umount2(target, 0));
                a.change = MARK_KEEP;
        }

        a.change = MARK_CHANGES;
        g_auto(Answer) nonsense = call_mount(worker, &a);
        g_assert_cmpstr(nonsense.kind, !=, "ok");
        g_assert_false(is_mounted(target));
}

/* Others may have written these bytes. They count as no mark, and stay until the mark has to change. */
TEST(test_invalid, "/mark/invalid") {
        static const char big[3000] = "version=2 identity= inode=0 fingerprint= label=complete";
        static const struct {
                const char *bytes;
                size_t n;
        } rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
                ROW("nonsense"),
                ROW(""),
                ROW("version=2 identity= inode=0 fingerprint= label=\0complete"),
                ROW("\xff\xfe"),
                ROW("version=2 anything"),
                ROW("version=2 identity= inode=0 fingerprint= label=complete tainted=no ownership=complete gid=18446744073709551615 context=" LABEL_1),
                ROW("version=1 " MARK_NOTHING "\n"),
                ROW(big),
#undef ROW
        };
        static const struct {
                MarkChange change;
                const char *after;
        } changes[] = {
                { MARK_TAINT, MARK_LABELS("unknown", "yes", "") },
                { MARK_RESET_LABELS, MARK_NOTHING },
                { MARK_RESET_OWNERSHIP, MARK_NOTHING },
                { MARK_RESET_ALL, MARK_NOTHING },
        };
        g_autoptr(TestVolume) v = volume_mount("invalid", "tmpfs", 0);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(changes); k++) {
                        g_autofree char *left = NULL;
                        ssize_t n;

                        set_mark_bytes(v->target, rows[i].bytes, rows[i].n);
                        assert_says(change_mark(v, MARK_KEEP), mark.found, ==, MARK_INVALID);
                        left = g_malloc(sizeof(big) + 1);
                        n = getxattr(v->target, MARK_XATTR, left, sizeof(big) + 1);
                        g_assert_cmpmem(left, n, rows[i].bytes, rows[i].n);

                        g_auto(Answer) changed = expect_ok(change_mark(v, changes[k].change));
                        assert_told(&changed, v->target);
                        assert_mark(v->target, changes[k].after);
                }
}

/* The worker writes no mark where no volume is mounted. */
TEST(test_refused, "/mark/refused") {
        g_autoptr(TestVolume) v = volume_mount("refused", "ext4", 0);
        g_autofree char *directory = path_printf("%s/lost+found", v->target),
                        *file = path_printf("%s/file", v->target);
        const struct {
                const char *target, *kind;
        } rows[] = {
                { directory, "InvalidTarget" },
                { file, "InvalidTarget" },
                { TEST_TARGETS "/missing", "InvalidTarget" },
                { "", "InvalidTarget" },
                { "/run", "PathNotAllowed" },
                { TEST_TARGETS, "PathNotAllowed" },
        };

        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(Answer) refused =
                        expect(call_adopt(worker, &(Arguments){ .target = rows[i].target, .change = MARK_TAINT }),
                               rows[i].kind);
                g_assert_cmpuint(refused.heard.n_plans, ==, 0);
        }
        assert_mark(v->target, NULL);
        assert_mark(directory, NULL);
        assert_mark(file, NULL);
        assert_mark("/run", NULL);
}

/* The mount is read-only, but others can write to the file system, so the worker changes the mark. */
TEST(test_read_only_mount, "/mark/read-only-mount") {
        g_autoptr(TestVolume) v = volume_mount("read-only-mount", "ext4", 0);

        must(mount(NULL, v->target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        g_assert_true(is_read_only(v->target));
        g_auto(Answer) through = expect_ok(change_mark(v, MARK_TAINT));
        assert_told(&through, v->target);
        assert_mark(v->target, MARK_LABELS("unknown", "yes", ""));
        g_assert_true(is_read_only(v->target));
}

/* The same for a new mount of a file system that is already mounted for writing. */
TEST(test_read_only_beside, "/mark/read-only-beside") {
        g_autoptr(TestVolume) v = volume_mount("beside", "ext4", 0);
        g_autofree char *target = make_target("beside-reader");

        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        g_auto(Answer) mounted =
                expect_ok(mount_with(worker, v->image, "ext4", target, .read_only = true, .change = MARK_TAINT));
        g_assert_true(mounted.outcome.fact.read_only);
        g_assert_false(mounted.outcome.superblock_read_only);
        g_assert_true(is_read_only(target));
        g_assert_false(is_read_only(v->target));
        assert_told(&mounted, target);
        assert_mark(target, MARK_LABELS("complete", "yes", LABEL_1));
        must(umount2(target, 0));
}

/* The file system is read-only, so the mark can neither change nor become false. */
TEST(test_read_only, "/mark/read-only") {
        g_autoptr(TestVolume) v = volume_mount("frozen", "ext4", 0);

        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        must(mount(NULL, v->target, NULL, MS_REMOUNT | MS_RDONLY, NULL));
        g_auto(Answer) changed = expect_ok(change_mark(v, MARK_TAINT));
        assert_told(&changed, v->target);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* ramfs keeps no xattrs. */
TEST(test_unsupported, "/mark/unsupported") {
        g_autoptr(Worker) with_ramfs = worker_start("[FileSystem ramfs]\nSource=none\n", NULL);
        g_autoptr(TestVolume) v = volume_mount("without", "ramfs", 0);

        assert_says(call_adopt(with_ramfs, &(Arguments){ .target = v->target, .change = MARK_TAINT }), mark.found, ==,
                    MARK_UNSUPPORTED);
}

/* A file system that is not configured is recorded, and nothing on it is changed, whatever selvold says. */
TEST(test_unlisted, "/mark/unlisted") {
        g_autoptr(TestVolume) v = volume_mount("unlisted", "ext2", 0);
        Arguments labels, group;

        if (!v)
                return;
        labels = group = (Arguments){ .target = v->target, .change = MARK_RESET_ALL };
        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        g_auto(Answer) adopted = expect_ok(call_adopt(worker, &labels));
        g_assert_cmpint(adopted.mark.found, ==, MARK_UNSUPPORTED);
        g_assert_cmpstr(adopted.outcome.fact.fs_type, ==, "ext2");
        labels.files = wanted_labels(LABEL_1);
        group.files = wanted_group(1000);
        assert_fails(call_adopt(worker, &labels), "TypeNotAllowed", "[FileSystem ext2]");
        assert_fails(call_adopt(worker, &group), "TypeNotAllowed", "[FileSystem ext2]");
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* The mark can't be written. The worker does not mount the volume if the mark claims too much. */
TEST(test_stuck, "/mark/stuck") {
        static const struct {
                const char *mark;
                MarkChange change;
                const char *kind;
        } rows[] = {
                { MARK_LABELS("complete", "no", LABEL_1), MARK_TAINT, "MountFailed" },
                { MARK_LABELS("complete", "no", LABEL_1), MARK_RESET_LABELS, "MountFailed" },
                { MARK_GROUP("complete", "5"), MARK_RESET_OWNERSHIP, "MountFailed" },
                { MARK_LABELS("complete", "no", LABEL_1), MARK_KEEP, "ok" },
                { MARK_LABELS("partial", "no", LABEL_1), MARK_TAINT, "ok" },
                { MARK_GROUP("partial", "5"), MARK_RESET_ALL, "ok" },
        };
        g_autofree char *image = make_image("stuck", "ext4"), *target = make_target("stuck");

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Arguments a = volume_at(image, "ext4", target);

                assert_ok(call_mount(worker, &a));
                set_immutable(target, false);
                set_mark(target, rows[i].mark);
                set_immutable(target, true);
                must(umount2(target, 0));

                a.change = rows[i].change;
                g_auto(Answer) mounted = expect(call_mount(worker, &a), rows[i].kind);
                if (g_str_equal(rows[i].kind, "ok")) {
                        assert_mark(target, rows[i].mark);
                        must(umount2(target, 0));
                } else
                        assert_message(mounted, "chattr");
                g_assert_false(is_mounted(target));
                assert_no_loop(image);
        }
}

/* The worker removes a mark that it can't write before it changes files, whatever the error is. */
TEST(test_not_written, "/mark/not-written") {
        g_autoptr(TestVolume) v = volume_mount("not-written", "ext4", 0);
        g_autoptr(Worker) traced = worker_start_traced("inject=fsetxattr:error=EROFS");

        if (!traced)
                return;
        set_mark(v->target, MARK_GROUP("complete", "5"));
        assert_ok(call_change(traced, &(Arguments){ .target = v->target,
                                                    .share_id = mount_id_of(v->target),
                                                    .files = wanted_group(1000) }));
        assert_mark(v->target, NULL);
}

/* A new mark needs a block, and the disk has none left, so the volume has no mark afterwards. */
TEST_WORDS(test_full, "/mark/full", word, "none", "shared") {
        const char *mark = g_str_equal(word, "shared") ? MARK_LABELS("complete", "no", LABEL_1) : NULL;
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("full", NULL), *target = make_target("full"), *device = NULL,
                        *filler = path_printf("of=%s/filler", target), *other = path_printf("%s/lost+found", target);

        g_assert_true(run("mkfs.ext4", "-q", "-I", "128", "-m", "0", "-O", "^has_journal", image, "8m", NULL));
        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        if (mark) {
                g_autofree char *text = NULL;

                /* ext4 can't change a block in its place that two inodes share. */
                set_mark(target, mark);
                text = get_mark(target);
                set_mark_bytes(other, text, strlen(text));
        }
        g_assert_false(run("dd", "if=/dev/zero", filler, "bs=1k", NULL));

        assert_says(call_adopt(worker, &(Arguments){ .target = target, .change = MARK_TAINT }), mark.found, ==,
                    MARK_ABSENT);
        assert_mark(target, NULL);

        /* The mark is gone from the disk, too. */
        must(umount2(target, 0));
        must(mount(device, target, "ext4", 0, NULL));
        assert_mark(target, NULL);
        must(umount2(target, 0));
}

/* The mark is on disk before the mount is visible. */
static void test_order(gconstpointer data) {
        const char *const *kill = data, *injection = kill[1];
        g_autoptr(Worker) traced = worker_start_traced(injection);
        g_autofree char *image = make_image("order", "ext4"), *target = make_target("order"), *device = NULL;
        _cleanup_close_ int loop = -EBADF;

        if (!traced)
                return;
        assert_fails(mount_with(traced, image, "ext4", target, .change = MARK_TAINT), "gone");
        g_assert_false(is_mounted(target));

        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        assert_mark(target, strstr(injection, "fsetxattr") ? NULL : MARK_LABELS("unknown", "yes", ""));
        must(umount2(target, 0));
}

void add_tests(void) {
        static const char *const kills[][2] = {
                { "unmarked", "inject=fsetxattr:signal=KILL:when=1" },
                { "synced", "inject=fsync:signal=KILL:when=1" },
                { "unpublished", "inject=move_mount:signal=KILL:when=1" },
        };

        worker = worker_start(NULL, NULL);
        add_rows("/mark/order", kills, test_order);
}

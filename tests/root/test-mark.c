/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "volumes.h"

/* The mark of a volume: what mounts do to it before they are seen, and what can be there already. */

static Answer change_mark(const TestVolume *v, MarkChange change) {
        return call_adopt(worker, &(Arguments){ .target = v->target, .change = change });
}

/* Each mount in turn, with what is there before and after. */
static void test_mount(gconstpointer data) {
        static const struct {
                const char *before; /* NULL: as it was left */
                MarkChange change;
                const char *after;
        } rows[] = {
                { NULL, MARK_KEEP, NULL },
                /* What claims nothing need not be told so. */
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
        const char *fs_type = data;
        g_autofree char *image = make_image("marked", fs_type), *target = make_target("marked");
        Arguments a = { .source = image, .fs_type = fs_type, .target = target };

        if (!image)
                return;
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

/* What anybody may have written there claims nothing. It stays as it is until it has to claim less. */
static void test_invalid(void) {
        static const char big[3000] = "version=2 inode=0 fingerprint= label=complete";
        static const struct {
                const char *bytes;
                size_t n;
        } rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
                ROW("nonsense"),
                ROW(""),
                ROW("version=2 inode=0 fingerprint= label=\0complete"),
                ROW("\xff\xfe"),
                ROW("version=2 anything"),
                ROW("version=2 inode=0 fingerprint= label=complete tainted=no ownership=complete gid=18446744073709551615 context=" LABEL_1),
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

/* Nothing is written where no volume is mounted. */
static void test_refused(void) {
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

/* A read-only mount of a file system that others can write to: the mark is changed through it all the same.
 */
static void test_read_only_mount(void) {
        g_autoptr(TestVolume) v = volume_mount("read-only-mount", "ext4", 0);

        must(mount(NULL, v->target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        g_assert_true(is_read_only(v->target));
        g_auto(Answer) through = expect_ok(change_mark(v, MARK_TAINT));
        assert_told(&through, v->target);
        assert_mark(v->target, MARK_LABELS("unknown", "yes", ""));
        g_assert_true(is_read_only(v->target));
}

/* The same of a mount that is new: others have the file system mounted for writing. */
static void test_read_only_beside(void) {
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

/* Nothing can be written to it, by anybody. */
static void test_read_only(void) {
        g_autoptr(TestVolume) v = volume_mount("frozen", "ext4", 0);

        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        must(mount(NULL, v->target, NULL, MS_REMOUNT | MS_RDONLY, NULL));
        g_auto(Answer) changed = expect_ok(change_mark(v, MARK_TAINT));
        assert_told(&changed, v->target);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* A file system that keeps no such xattrs. */
static void test_unsupported(void) {
        g_autoptr(Worker) with_ramfs = worker_start("[FileSystem ramfs]\nSource=none\n", NULL);
        g_autoptr(TestVolume) v = volume_mount("without", "ramfs", 0);

        assert_says(call_adopt(with_ramfs, &(Arguments){ .target = v->target, .change = MARK_TAINT }), mark.found, ==,
                    MARK_UNSUPPORTED);
}

/* A mark that claims too much and stays: the volume isn't mounted. One that claims nothing may stay. */
static void test_stuck(void) {
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
                Arguments a = { .source = image, .fs_type = "ext4", .target = target };

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

/* One that can't be written goes before files are changed, whatever the reason. */
static void test_not_written(void) {
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

/* Where there is no room for another mark, there is none. Each new value needs a block, with none left. */
static void test_full(gconstpointer data) {
        const char *mark = data;
        g_autofree char *image = make_image("full", NULL), *target = make_target("full"), *device = NULL,
                        *filler = path_printf("of=%s/filler", target), *other = path_printf("%s/lost+found", target);
        int loop;

        g_assert_true(run("mkfs.ext4", "-q", "-I", "128", "-m", "0", "-O", "^has_journal", image, "8m", NULL));
        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        if (mark) {
                g_autofree char *text = NULL;

                /* A block that two inodes share can't be changed in its place. */
                set_mark(target, mark);
                text = get_mark(target);
                set_mark_bytes(other, text, strlen(text));
        }
        g_assert_false(run("dd", "if=/dev/zero", filler, "bs=1k", NULL));

        assert_says(call_adopt(worker, &(Arguments){ .target = target, .change = MARK_TAINT }), mark.found, ==,
                    MARK_ABSENT);
        assert_mark(target, NULL);

        /* And it is gone for good. */
        must(umount2(target, 0));
        must(mount(device, target, "ext4", 0, NULL));
        assert_mark(target, NULL);
        must(umount2(target, 0));
        close(loop);
}

/* Whoever can see the mount finds the mark on disk: it was written and synced before. */
static void test_order(gconstpointer data) {
        const char *const *kill = data, *injection = kill[1];
        g_autoptr(Worker) traced = worker_start_traced(injection);
        g_autofree char *image = make_image("order", "ext4"), *target = make_target("order"), *device = NULL;
        int loop;

        if (!traced)
                return;
        assert_fails(mount_with(traced, image, "ext4", target, .change = MARK_TAINT), "gone");
        g_assert_false(is_mounted(target));

        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        assert_mark(target, strstr(injection, "fsetxattr") ? NULL : MARK_LABELS("unknown", "yes", ""));
        must(umount2(target, 0));
        close(loop);
}

void add_tests(void) {
        static const char *const kills[][2] = {
                { "unmarked", "inject=fsetxattr:signal=KILL:when=1" },
                { "synced", "inject=fsync:signal=KILL:when=1" },
                { "unpublished", "inject=move_mount:signal=KILL:when=1" },
        };

        worker = worker_start(NULL, NULL);
        add_words("/mark/mount", test_mount, "ext4", "xfs", "btrfs", NULL);
        g_test_add_func("/mark/invalid", test_invalid);
        g_test_add_func("/mark/refused", test_refused);
        g_test_add_func("/mark/read-only-mount", test_read_only_mount);
        g_test_add_func("/mark/read-only-beside", test_read_only_beside);
        g_test_add_func("/mark/read-only", test_read_only);
        g_test_add_func("/mark/unsupported", test_unsupported);
        g_test_add_func("/mark/stuck", test_stuck);
        g_test_add_func("/mark/not-written", test_not_written);
        g_test_add_data_func("/mark/full/none", NULL, test_full);
        g_test_add_data_func("/mark/full/shared", MARK_LABELS("complete", "no", LABEL_1), test_full);
        add_rows("/mark/order", kills, test_order);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "volumes.h"

/* The worker relabels volumes before it publishes them, and volumes that are mounted already. */

/* A volume has its labels when the worker publishes it. The mark says whether others may change them. */
TEST_DISKS(test_mount, "/relabel/mount", "ext4", "xfs", "btrfs") {
        g_autoptr(TestVolume) prepared = volume_mount("staged", fs_type, 0);
        g_autofree char *image = NULL, *target = make_target("publish-here");
        unsigned n;

        if (!prepared)
                return;
        n = fill_tree(prepared->target, 20, 20);
        image = g_strdup(prepared->image);
        g_clear_pointer(&prepared, volume_unmount);

        Arguments a = volume_at(image, fs_type, target, .files = wanted_labels(LABEL_1));
        g_auto(Answer) mounted = expect_ok(call_mount(worker, &a));
        g_assert_true(mounted.walked);
        g_assert_cmpint(mounted.files.relabel_reason, ==, RELABEL_REASON_UNKNOWN);
        assert_counts(mounted.walk.counts, .done = n, .changed = n);
        g_assert_cmpint(mounted.walk.n_issues, ==, 0);
        g_assert_cmpint(mounted.heard.begun.label_state, ==, FILES_PARTIAL);
        g_assert_true(is_mounted(target));
        g_assert_cmpint(mounted.outcome.fact.mount_id, ==, mount_id_of(target));
        g_assert_cmpstr(mounted.outcome.root_context, ==, LABEL_1);
        assert_told(&mounted, target);
        assert_mark(target, MARK_LABELS("complete", "no", LABEL_1));
        g_assert_cmpint(count_labeled(target, LABEL_1), ==, n);
        /* The child has left no descriptor that keeps the mount busy. */
        must(umount2(target, 0));
        assert_no_loop(image);

        /* All files have the label already. */
        a.history = mark_history_of(image, fs_type);
        g_auto(Answer) again = expect_ok(call_mount(worker, &a));
        g_assert_false(again.walked);
        g_assert_cmpint(again.files.relabel, ==, RELABEL_SKIP);
        g_assert_cmpuint(again.heard.n_progress + again.heard.n_walks, ==, 0);
        must(umount2(target, 0));

        /* The mark says that all files have the other label, so the worker writes all without a look. */
        a.files = wanted_labels(LABEL_2);
        a.change = MARK_RESET_LABELS;
        a.history = mark_history_of(image, fs_type);
        g_auto(Answer) blind = expect_ok(call_mount(worker, &a));
        g_assert_true(blind.files.blind);
        g_assert_cmpint(blind.walk.counts.changed, ==, n);
        g_assert_cmpint(count_labeled(target, LABEL_2), ==, n);
        assert_mark(target, MARK_NOTHING);
        must(umount2(target, 0));
}

/* The worker mounts a volume only for the relabel. */
TEST(test_unmounted, "/relabel/unmounted") {
        g_autoptr(TestVolume) v = volume_mount("unmounted", "ext4", 0);
        Arguments a = { .source = v->image, .fs_type = "ext4", .files = wanted_labels(LABEL_1) };
        unsigned n;

        n = fill_tree(v->target, 2, 5);
        must(umount2(v->target, 0));
        close(v->loop);

        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        g_assert_false(done.question.mounted);
        g_assert_cmpint(done.walk.counts.changed, ==, n);
        g_assert_cmpint(count_mounts(), ==, 0);
        assert_no_loop(v->image);

        a.target = "";
        assert_fails(call_mount(worker, &a), "InvalidTarget");
        a.target = "/etc";
        assert_fails(call_mount(worker, &a), "PathNotAllowed");
        assert_no_loop(v->image);

        v->device = (g_free(v->device), attach_loop(v->image, &v->loop));
        must(mount(v->device, v->target, "ext4", 0, NULL));
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

TEST_DISKS(test_live, "/relabel/live", "ext4", "xfs", "btrfs", "tmpfs") {
        g_autoptr(TestVolume) v = volume_mount("live", fs_type, 0);
        Arguments a;
        unsigned n;

        n = fill_tree(v->target, 5, 10);
        a = live(v, wanted_labels(LABEL_1));

        g_auto(Answer) first = expect_ok(call_change(worker, &a));
        assert_counts(first.walk.counts, .done = n, .changed = n);
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
        assert_told(&first, v->target);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));

        a.files.force = true;
        g_auto(Answer) second = expect_ok(call_change(worker, &a));
        assert_counts(second.walk.counts, .done = n);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));

        a.files = wanted_labels(LABEL_2);
        a.history.alive = true;
        g_auto(Answer) third = expect_ok(call_change(worker, &a));
        g_assert_true(third.files.blind);
        g_assert_cmpint(third.walk.counts.changed, ==, n);
        g_assert_cmpint(count_labeled(v->target, LABEL_2), ==, n);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_2));
}

/* A relabel keeps the group in the mark and removes a taint. The mark says from the beginning if others may
 * change labels. */
TEST(test_mark, "/relabel/mark") {
        static const struct {
                const char *before;
                MarkChange change;
                RelabelReason reason;
                const char *after;
        } rows[] = {
                { "label=complete tainted=yes ownership=complete gid=5 context=" LABEL_1, MARK_KEEP,
                  RELABEL_REASON_TAINTED, "label=complete tainted=no ownership=complete gid=5 context=" LABEL_2 },
                { "label=unknown tainted=no ownership=partial gid=5 context=", MARK_KEEP, RELABEL_REASON_UNKNOWN,
                  "label=complete tainted=no ownership=partial gid=5 context=" LABEL_2 },
                { MARK_LABELS("partial", "no", LABEL_2), MARK_KEEP, RELABEL_REASON_PARTIAL,
                  MARK_LABELS("complete", "no", LABEL_2) },
                { "hostile", MARK_KEEP, RELABEL_REASON_UNKNOWN, MARK_LABELS("complete", "no", LABEL_2) },
                { MARK_NOTHING, MARK_TAINT, RELABEL_REASON_UNKNOWN, MARK_LABELS("complete", "yes", LABEL_2) },
                { MARK_LABELS("complete", "yes", LABEL_2), MARK_RESET_LABELS, RELABEL_REASON_TAINTED, MARK_NOTHING },
        };
        g_autoptr(TestVolume) v = volume_mount("others", "ext4", 0);
        Arguments a = live(v, wanted_labels(LABEL_2));

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                set_mark(v->target, rows[i].before);
                a.change = rows[i].change;
                g_auto(Answer) done = expect_ok(call_change(worker, &a));
                g_assert_cmpint(done.files.relabel_reason, ==, rows[i].reason);
                g_assert_cmpint(done.heard.begun.label_state, ==, FILES_PARTIAL);
                assert_told(&done, v->target);
                assert_mark(v->target, rows[i].after);
        }

        a.change = MARK_CHANGES;
        a.files = wanted_labels(LABEL_1);
        g_auto(Answer) nonsense = call_change(worker, &a);
        g_assert_cmpstr(nonsense.kind, !=, "ok");
        assert_mark(v->target, MARK_NOTHING);
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, 0);
}

/* The worker reports progress at least once, even of a short walk, and takes a very high limit. */
TEST(test_limits, "/relabel/limits") {
        g_autoptr(TestVolume) v = volume_mount("limits", "ext4", 0);
        Arguments a = live(v, wanted_labels(LABEL_1));

        a.entries_per_sec = UINT64_MAX;
        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        g_assert_cmpint(done.heard.n_progress, >=, 1);
        g_assert_cmpint(done.heard.total, >=, done.walk.counts.done);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* The worker counts and names an entry that it can't change, leaves the root, and marks "partial". */
TEST(test_immutable, "/relabel/immutable") {
        g_autoptr(TestVolume) v = volume_mount("immutable", "ext4", 0);
        g_autofree char *file = path_printf("%s/dir-1/odd\n\xff", v->target), *target = make_target("not-published");
        const Arguments a = live(v, wanted_labels(LABEL_1));
        const Arguments mounts[] = {
                volume_at(v->device, "ext4", target, .files = wanted_labels(LABEL_1)),
                volume_at(v->device, "ext4", target, .files = wanted_labels(LABEL_1), .share = v->target,
                          .share_id = v->mount_id),
        };
        unsigned n;

        fill_tree(v->target, 3, 3);
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        set_immutable(file, true);
        n = count_labeled(v->target, "");

        g_auto(Answer) failed = expect_ok(call_change(worker, &a));
        g_assert_cmpint(failed.walk.counts.done, ==, n);
        g_assert_cmpint(failed.walk.counts.failed, ==, 1);
        g_assert_cmpint(failed.walk.n_issues, ==, 1);
        g_assert_cmpstr(failed.walk.issues[0].path, ==, "dir-1/odd\\x0a\\xff");
        g_assert_nonnull(strstr(failed.walk.issues[0].text, "chattr"));
        assert_told(&failed, v->target);
        assert_mark(v->target, MARK_LABELS("partial", "no", LABEL_1));
        assert_label(v->target, "");

        for (size_t i = 0; i < G_N_ELEMENTS(mounts); i++) {
                assert_says(call_mount(worker, &mounts[i]), walk.counts.failed, ==, 1);
                g_assert_false(is_mounted(target));
        }

        set_immutable(file, false);
        g_auto(Answer) rest = expect_ok(call_change(worker, &a));
        /* The root has another label, so on ext4 the worker writes all labels without a look. */
        assert_counts(rest.walk.counts, .done = n, .changed = n);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
}

/* The worker can't change a mark that would become false, so it changes no label either. */
TEST(test_stuck, "/relabel/stuck") {
        g_autoptr(TestVolume) v = volume_mount("stuck-mark", "ext4", 0);
        Arguments a = live(v, wanted_labels(LABEL_1));

        fill_tree(v->target, 1, 3);
        assert_ok(call_change(worker, &a));
        set_immutable(v->target, true);
        a.files = wanted_labels(LABEL_2);
        assert_fails(call_change(worker, &a), "EntriesFailed", "chattr");
        g_assert_cmpint(count_labeled(v->target, LABEL_2), ==, 0);
        set_immutable(v->target, false);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* The disk has no room for labels: each label needs a block, as small inodes have no room for it. */
TEST(test_full, "/relabel/full") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("no-room", NULL), *target = make_target("no-room"), *device = NULL,
                        *filler = path_printf("of=%s/filler", target), *file = path_printf("%s/filler", target);
        Arguments a = { .target = target, .files = wanted_labels(LABEL_1) };

        g_assert_true(run("mkfs.ext4", "-q", "-I", "128", "-m", "0", "-O", "^has_journal", image, "8m", NULL));
        device = attach_loop(image, &loop);
        must(mount(device, target, "ext4", 0, NULL));
        note_mount(target);
        fill_tree(target, 2, 5);
        g_assert_false(run("dd", "if=/dev/zero", filler, "bs=1k", NULL));

        a.share_id = mount_id_of(target);
        g_auto(Answer) full = expect_ok(call_change(worker, &a));
        g_assert_cmpint(full.walk.counts.failed, >, 0);
        g_assert_cmpint(full.walk.n_issues, >, 0);
        g_assert_nonnull(strstr(full.walk.issues[0].text, "no space"));
        g_assert_cmpint(full.mark.found, ==, MARK_ABSENT);
        assert_mark(target, NULL);

        must(truncate(file, 0));
        assert_says(call_change(worker, &a), walk.counts.failed, ==, 0);
        assert_mark(target, MARK_LABELS("complete", "no", LABEL_1));
        must(umount2(target, 0));
}

/* The worker does not enter mounts inside the volume, and relabels the files that these cover. */
TEST(test_mounts_inside, "/relabel/mounts-inside") {
        static const char *const submounts[] = { "dir-0", "dir-0/in\\x0aner", "dir-1", NULL };
        g_autoptr(TestVolume) v = volume_mount("inside", "ext4", 0);
        g_autofree char *point = path_printf("%s/dir-0", v->target),
                        *inner = path_printf("%s/dir-0/in\nner", v->target),
                        *bind = path_printf("%s/dir-1", v->target), *covered = path_printf("%s/file-1", point);
        const Arguments a = live(v, wanted_labels(LABEL_1));
        unsigned n;

        n = fill_tree(v->target, 3, 3);
        must(mount("inside", point, "tmpfs", 0, NULL));
        must(mkdir(inner, 0755));
        must(mount("further-inside", inner, "tmpfs", 0, NULL));
        must(mount("/etc", bind, NULL, MS_BIND, NULL));

        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        assert_counts(done.walk.counts, .done = n, .changed = n);
        g_assert_cmpstrv(done.walk.submounts, submounts);
        g_assert_cmpint(count_labeled(point, LABEL_1), ==, 0);
        g_assert_cmpint(count_labeled(bind, LABEL_1), ==, 0);
        g_auto(Answer) verified = expect_ok(call_verify_labels(worker, v->target, LABEL_1, VERIFY_FULL));
        g_assert_true(verified.matches);
        assert_counts(verified.walk.counts, .done = n);

        must(umount2(bind, 0));
        must(umount2(inner, 0));
        must(umount2(point, 0));
        assert_label(covered, LABEL_1);
}

/* The volume is a directory of a larger file system, so its files may have names outside. */
TEST(test_part, "/relabel/part") {
        g_autoptr(TestVolume) v = volume_mount("larger", "ext4", 0);
        g_autofree char *part = path_printf("%s/dir-0", v->target), *outside = path_printf("%s/outside", v->target),
                        *leads_out = path_printf("%s/dir-0/leads-out", v->target), *target = make_target("part");
        Arguments a = { .target = target, .files = wanted_labels(LABEL_1) };

        fill_tree(v->target, 2, 5);
        g_assert_true(g_file_set_contents(outside, "", -1, NULL));
        must(link(outside, leads_out));
        must(mount(part, target, NULL, MS_BIND, NULL));
        note_mount(target);

        a.share_id = mount_id_of(target);
        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        g_assert_cmpint(done.walk.counts.skipped, ==, 1);
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.changed, ==, 6);
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, 6);
        /* The file with a name outside keeps its label, so the mark does not say "complete". */
        assert_told(&done, target);
        assert_mark(target, MARK_LABELS("partial", "no", LABEL_1));
        assert_label(outside, "");
        g_auto(Answer) verified = expect_ok(call_verify_labels(worker, target, LABEL_1, VERIFY_FULL));
        g_assert_false(verified.matches);
        g_assert_cmpint(verified.walk.counts.mismatched, ==, 1);
        g_assert_cmpint(verified.walk.counts.skipped, ==, 0);

        /* Another change names the source, and shares the mount of the same directory. */
        a = volume_at(v->device, "ext4", NULL, .share = target, .share_id = a.share_id,
                      .files = wanted_labels(LABEL_2));
        assert_says(call_change(worker, &a), walk.counts.skipped, ==, 1);
        g_assert_cmpint(count_labeled(v->target, LABEL_2), ==, 6);
        assert_mark(target, MARK_LABELS("partial", "no", LABEL_2));

        must(unlink(outside));
        assert_says(call_change(worker, &a), walk.counts.changed, ==, 1);
        assert_mark(target, MARK_LABELS("complete", "no", LABEL_2));
        must(umount2(target, 0));
}

/* A subvolume of btrfs is like a whole file system, as no hard link leads out of it. */
TEST_DISKS(test_subvolume, "/relabel/subvolume", "btrfs") {
        g_autoptr(TestVolume) v = volume_mount("subvolumes", "btrfs", 0);
        g_autofree char *sub = path_printf("%s/sub", v->target), *one = path_printf("%s/one", sub),
                        *two = path_printf("%s/two", sub), *target = make_target("subvolume");
        Arguments a = { .target = target, .files = wanted_labels(LABEL_1) };

        g_assert_true(run("btrfs", "-q", "subvolume", "create", sub, NULL));
        g_assert_true(g_file_set_contents(one, "", -1, NULL));
        must(link(one, two));
        must(mount(v->device, target, "btrfs", 0, "subvol=/sub"));
        note_mount(target);

        a.share_id = mount_id_of(target);
        assert_says(call_change(worker, &a), walk.counts.skipped, ==, 0);
        g_assert_cmpint(count_labeled(target, LABEL_1), ==, 3);
        assert_mark(target, MARK_LABELS("complete", "no", LABEL_1));
        must(umount2(target, 0));
        assert_label(v->target, "");
}

/* The capabilities of the unit are enough for files of any owner and mode. */
TEST(test_capabilities, "/relabel/capabilities") {
        g_autofree char *set = read_capabilities();
        const char *const wrapper[] = { "setpriv", "--no-new-privs", "--bounding-set", set, NULL };
        g_autoptr(Worker) w = worker_start(NULL, wrapper);
        g_autoptr(TestVolume) v = volume_mount("capabilities", "ext4", 0);
        g_autofree char *locked = path_printf("%s/dir-1", v->target), *file = path_printf("%s/file-1", locked);
        const Arguments a = live(v, wanted_labels(LABEL_1));
        unsigned n;

        n = fill_tree(v->target, 3, 3);
        must(chmod(file, 0));
        must(chown(file, 1000, 1000));
        must(chmod(locked, 0));
        must(chown(locked, 1000, 1000));
        must(chown(v->target, 1000, 1000));

        g_auto(Answer) done = expect_ok(call_change(w, &a));
        assert_counts(done.walk.counts, .done = n, .changed = n);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        assert_says(call_verify_labels(w, v->target, LABEL_1, VERIFY_FULL), matches, ==, true);
}

/* A walk over a deep tree needs more descriptors than a process may have in the beginning. */
TEST(test_deep, "/relabel/deep") {
        enum { DEPTH = 3000 };
        g_autoptr(TestVolume) v = volume_mount("deep", "ext4", 0);
        const Arguments a = live(v, wanted_labels(LABEL_1));

        close(make_chain(v->target, DEPTH));
        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        assert_counts(done.walk.counts, .done = DEPTH + 2, .changed = DEPTH + 2); /* root, lost+found */
        must(umount2(v->target, 0));
        must(mount(v->device, v->target, "ext4", 0, NULL));
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

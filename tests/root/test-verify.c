/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "volumes.h"

/* The worker compares labels and groups as deeply as asked for, and resets a mark that claims too much. */

static void change(const TestVolume *v, FilesWanted files) {
        const Arguments a = live(v, files);

        assert_says(call_change(worker, &a), walk.counts.failed, ==, 0);
}

static void assert_issue(const Answer *a, const char *path, const char *text) {
        for (size_t i = 0; i < a->walk.n_issues; i++)
                if (g_str_equal(a->walk.issues[i].path, path)) {
                        g_assert_cmpstr(a->walk.issues[i].text, ==, text);
                        return;
                }
        g_error("no issue names %s", path);
}

/* The worker resets the mark of the mount that the call names. */
static void name_mount(VerifyCall *call, const TestVolume *v) {
        call->mount_target = v->target;
        call->mount = (MountIdentity){ .id = v->mount_id, .device = v->mount_device };
}

static void assert_verified(Answer answer, bool matches, const char *actual, uint64_t done, uint64_t mismatched) {
        g_auto(Answer) a = expect_ok(answer);

        g_assert_cmpint(a.matches, ==, matches);
        g_assert_cmpstr(a.actual, ==, actual);
        assert_counts(a.walk.counts, .done = done, .mismatched = mismatched);
        g_assert_cmpint(a.walk.n_issues > 0, ==, mismatched > 0);
}

TEST_DISKS(test_depths, "/verify/depths", "ext4", "xfs", "btrfs", "tmpfs") {
        g_autoptr(TestVolume) v = volume_mount("depths", fs_type, 0);
        g_autofree char *odd = NULL, *none = NULL, *sub = NULL;
        unsigned n;

        n = fill_tree(v->target, 10, 10);
        change(v, wanted_labels(LABEL_1));
        odd = path_printf("%s/dir-3/file-7", v->target);
        none = path_printf("%s/dir-4/new\nfile", v->target);
        sub = path_printf("%s/dir-3", v->target);

        for (VerifyDepth depth = 0; depth < VERIFY_DEPTHS; depth++) {
                const unsigned done = depth == VERIFY_FULL ? n : 1;

                assert_verified(call_verify_labels(worker, v->target, LABEL_1, depth), true, LABEL_1, done, 0);
                assert_verified(call_verify_labels(worker, v->target, LABEL_2, depth), false, LABEL_1, done, done);
        }

        set_label(odd, LABEL_2);
        g_assert_true(g_file_set_contents(none, "", -1, NULL));
        assert_verified(call_verify_labels(worker, v->target, LABEL_1, VERIFY_ROOT), true, LABEL_1, 1, 0);
        g_auto(Answer) full = expect_ok(call_verify_labels(worker, v->target, LABEL_1, VERIFY_FULL));
        g_assert_false(full.matches);
        g_assert_cmpstr(full.actual, ==, LABEL_1);
        assert_counts(full.walk.counts, .done = n + 1, .mismatched = 2);
        g_assert_cmpint(full.walk.n_issues, ==, 2);
        assert_issue(&full, "dir-3/file-7", "has the label '" LABEL_2 "'");
        assert_issue(&full, "dir-4/new\\x0afile", "has no label");

        /* The path may be a directory that is no mount, or a file. */
        assert_verified(call_verify_labels(worker, sub, LABEL_1, VERIFY_FULL), false, LABEL_1, 11, 1);
        assert_verified(call_verify_labels(worker, odd, LABEL_2, VERIFY_FULL), true, LABEL_2, 1, 0);
        g_auto(Answer) wrong_file = expect_ok(call_verify_labels(worker, odd, LABEL_1, VERIFY_FULL));
        g_assert_false(wrong_file.matches);
        assert_issue(&wrong_file, ".", "has the label '" LABEL_2 "'");
}

/* The walk leaves the volume neither by a mount inside nor by a symbolic link, and changes nothing. */
TEST(test_confined, "/verify/confined") {
        g_autoptr(TestVolume) v = volume_mount("confined", "ext4", 0);
        g_autofree char *point = path_printf("%s/dir-0", v->target), *out = path_printf("%s/dir-1/out", v->target),
                        *inside = path_printf("%s/wrong", point);
        struct stat before, now;
        unsigned n;

        fill_tree(v->target, 3, 3);
        must(symlink("/etc", out));
        n = count_labeled(v->target, "");
        change(v, wanted_labels(LABEL_1));
        must(mount("confined", point, "tmpfs", 0, NULL));
        g_assert_true(g_file_set_contents(inside, "", -1, NULL));
        must(lstat(v->target, &before));

        assert_verified(call_verify_labels(worker, v->target, LABEL_1, VERIFY_FULL), true, LABEL_1, n, 0);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        must(lstat(v->target, &now));
        g_assert_cmpint(now.st_atim.tv_sec, ==, before.st_atim.tv_sec);
        g_assert_cmpint(now.st_atim.tv_nsec, ==, before.st_atim.tv_nsec);
        must(umount2(point, 0));
}

/* The worker compares groups and modes only with depth "full", as the mount shows them. */
TEST(test_group, "/verify/group") {
        g_autoptr(TestVolume) v = volume_mount("verify", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "dir", "file", NULL),
                        *directory = g_path_get_dirname(file), *other = g_build_filename(directory, "other", NULL);
        VerifyCall call = verify_labels(v->target, LABEL_1, VERIFY_FULL);
        FilesWanted both = wanted_group(1000);

        must(mkdir(directory, 0755));
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        g_assert_true(g_file_set_contents(other, "x", 1, NULL));
        both.context = (char *) LABEL_1;
        change(v, both);
        call.gid = 1000;
        assert_verified(call_verify(worker, &call), true, LABEL_1, 5, 0);

        must(chmod(file, 0600));
        must(chown(other, 0, 2000));
        set_label(other, LABEL_2);
        g_auto(Answer) wrong = expect_ok(call_verify(worker, &call));
        g_assert_false(wrong.matches);
        assert_counts(wrong.walk.counts, .done = 5, .misowned = 2, .mismatched = 1);
        assert_issue(&wrong, "dir/file", "has group 1000 and mode 0600");
        assert_issue(&wrong, "dir/other", "has the label '" LABEL_2 "' and has group 2000 and mode 0664");
        call.expected = (char *) "";
        g_auto(Answer) group_alone = expect_ok(call_verify(worker, &call));
        g_assert_false(group_alone.matches);
        assert_counts(group_alone.walk.counts, .done = 5, .misowned = 2);
        assert_verified(call_verify_labels(worker, v->target, LABEL_1, VERIFY_FULL), false, LABEL_1, 5, 1);

        call.depth = VERIFY_ROOT;
        assert_fails(call_verify(worker, &call), "InvalidOption");
}

/* The worker resets a mark that is found to be false, so that no node skips the wrong files. */
TEST(test_reset, "/verify/reset") {
        static const char complete[] = "label=complete tainted=no ownership=complete gid=1000 context=" LABEL_1;
        static const char no_labels[] = "label=unknown tainted=no ownership=complete gid=1000 context=";
        static const struct {
                const char *name;
                const char *mark, *label; /* the file's label; NULL: it is right */
                gid_t gid;                /* the file's group */
                const char *expected;
                gid_t expected_gid;
                bool root;
                MarkChange reset;
                const char *after;
        } rows[] = {
                { "right", complete, NULL, 1000, LABEL_1, 1000, false, MARK_KEEP, complete },
                { "label", complete, LABEL_2, 1000, LABEL_1, 1000, false, MARK_RESET_LABELS, no_labels },
                { "label-alone", complete, LABEL_2, 2000, LABEL_1, GID_NONE, false, MARK_RESET_LABELS, no_labels },
                { "group", complete, NULL, 2000, LABEL_1, 1000, false, MARK_RESET_OWNERSHIP,
                  MARK_LABELS("complete", "no", LABEL_1) },
                { "group-alone", complete, LABEL_2, 2000, "", 1000, false, MARK_RESET_OWNERSHIP,
                  MARK_LABELS("complete", "no", LABEL_1) },
                { "both", complete, LABEL_2, 2000, LABEL_1, 1000, false, MARK_RESET_ALL, MARK_NOTHING },
                /* The mark does not claim the label or the group that the call expects. */
                { "other-label", complete, NULL, 1000, LABEL_2, GID_NONE, false, MARK_KEEP, complete },
                { "other-group", complete, NULL, 1000, "", 3000, false, MARK_KEEP, complete },
                { "partial", MARK_LABELS("partial", "no", LABEL_1), LABEL_2, 2000, LABEL_1, 1000, false, MARK_KEEP,
                  MARK_LABELS("partial", "no", LABEL_1) },
                /* The worker does not look at the wrong file. */
                { "root", complete, LABEL_2, 2000, LABEL_1, GID_NONE, true, MARK_KEEP, complete },
        };
        g_autoptr(TestVolume) v = volume_mount("reset", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "file", NULL);
        FilesWanted both = wanted_group(1000);

        both.context = (char *) LABEL_1;
        both.force = true;
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                VerifyCall call =
                        verify_labels(v->target, rows[i].expected, rows[i].root ? VERIFY_ROOT : VERIFY_FULL);

                change(v, both);
                if (rows[i].label)
                        set_label(file, rows[i].label);
                must(chown(file, 0, rows[i].gid));
                must(chmod(file, 0660));
                set_mark(v->target, rows[i].mark);

                /* The worker resets no mark if the call names no mount. */
                call.gid = rows[i].expected_gid;
                g_auto(Answer) no_mount = expect_ok(call_verify(worker, &call));
                g_assert_cmpint(no_mount.reset, ==, MARK_KEEP);
                assert_mark(v->target, rows[i].mark);

                name_mount(&call, v);
                g_auto(Answer) verified = call_verify(worker, &call);
                g_test_message("%s: %s", rows[i].name, mark_change_to_string(verified.reset));
                assert_answer(verified, "ok");
                g_assert_cmpint(verified.matches, ==, no_mount.matches);
                g_assert_cmpint(verified.reset, ==, rows[i].reset);
                g_assert_cmpstr(verified.not_reset, ==, "");
                assert_mark(v->target, rows[i].after);
        }
}

/* Wrong files of another file system, which is mounted inside, do not make the mark false. */
TEST(test_submount, "/verify/submount") {
        g_autoptr(TestVolume) v = volume_mount("above", "ext4", 0);
        g_autofree char *sub = g_build_filename(v->target, "sub", NULL), *file = g_build_filename(sub, "file", NULL);

        must(mkdir(sub, 0755));
        must(mount("inside", sub, "tmpfs", 0, NULL));
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        for (VerifyDepth depth = 0; depth < VERIFY_DEPTHS; depth++) {
                VerifyCall call = verify_labels(sub, LABEL_1, depth);

                name_mount(&call, v);
                g_auto(Answer) verified = expect_ok(call_verify(worker, &call));
                g_assert_cmpuint(verified.walk.counts.mismatched, >, 0);
                g_assert_cmpint(verified.reset, ==, MARK_KEEP);
                g_assert_cmpstr(verified.not_reset, ==, "");
                assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        }
        must(umount2(sub, 0));
}

/* Another operation makes the files right after the worker has found them wrong, and marks that. */
TEST(test_mark_completed, "/verify/mark-completed") {
        g_autoptr(TestVolume) v = volume_mount("completed", "ext4", 0);
        VerifyCall call = verify_labels(v->target, LABEL_1, VERIFY_FULL);
        Operation *o;
        pid_t child;

        fill_tree(v->target, 10, 20);
        set_mark(v->target, MARK_LABELS("partial", "no", LABEL_1));
        name_mount(&call, v);
        call.entries_per_sec = 100;
        o = operation_start_verify(worker, &call);
        child = worker_find_child(worker);
        operation_wait(o, o->heard.n_progress > 0 || o->reply);
        must(kill(child, SIGSTOP));
        g_assert_null(o->reply);
        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        must(kill(child, SIGCONT));
        g_auto(Answer) verified = expect_ok(operation_finish(o));
        g_assert_cmpuint(verified.walk.counts.mismatched, >, 0);
        g_assert_cmpint(verified.reset, ==, MARK_KEEP);
        g_assert_cmpstr(verified.not_reset, ==, "");
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* The worker answers, also if it can't reset the mark. */
TEST(test_not_reset, "/verify/not-reset") {
        g_autoptr(TestVolume) v = volume_mount("not-reset", "ext4", 0);
        VerifyCall call = verify_labels(v->target, LABEL_1, VERIFY_FULL);
        const struct {
                MountIdentity mount;
                const char *words;
        } others[] = {
                { { v->mount_id + 100000, v->mount_device }, "gone or covered" },
                { { v->mount_id, (char *) "7:99999" }, "another device" },
        };

        set_label(v->target, LABEL_1);
        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        name_mount(&call, v);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                call.mount = others[i].mount;
                g_auto(Answer) other_mount = expect_ok(call_verify(worker, &call));
                g_assert_false(other_mount.matches);
                g_assert_nonnull(strstr(other_mount.not_reset, others[i].words));
                assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        }

        name_mount(&call, v);
        must(mount(NULL, v->target, NULL, MS_REMOUNT | MS_RDONLY, NULL));
        g_auto(Answer) frozen = expect_ok(call_verify(worker, &call));
        g_assert_false(frozen.matches);
        g_assert_cmpint(frozen.reset, ==, MARK_RESET_LABELS);
        g_assert_nonnull(strstr(frozen.not_reset, "read-only"));
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
}

/* The child reports its progress, and ends when the caller hangs up. */
TEST(test_hang_up, "/verify/hang-up") {
        g_autoptr(TestVolume) v = volume_mount("slowly", "ext4", 0);
        VerifyCall call = verify_labels(v->target, LABEL_1, VERIFY_FULL);
        Operation *o;
        pid_t child;

        fill_tree(v->target, 20, 50);
        call.entries_per_sec = 200;
        o = operation_start_verify(worker, &call);
        operation_wait(o, o->heard.n_progress >= 3 || o->reply);
        g_assert_null(o->reply);
        g_assert_cmpuint(o->heard.progress.done, >, 0);
        child = worker_find_child(worker);
        assert_fails(operation_hang_up(o), "gone");
        g_assert_cmpint(kill(child, 0), <, 0);
        g_assert_cmpint(errno, ==, ESRCH);
}

TEST(test_refused, "/verify/refused") {
        g_autoptr(TestVolume) without = volume_mount("verify-none", "ramfs", 0),
                              frozen = volume_mount("verify-frozen", "ext4", MS_RDONLY);
        VerifyCall nothing = verify_labels(frozen->target, "", VERIFY_FULL);

        g_auto(Answer) depth = call_verify_labels(worker, frozen->target, LABEL_1, VERIFY_DEPTHS);
        g_assert_cmpstr(depth.kind, !=, "ok");
        assert_fails(call_verify_labels(worker, "/etc", LABEL_1, VERIFY_FULL), "PathNotAllowed");
        assert_fails(call_verify_labels(worker, frozen->target, "a", VERIFY_FULL), "InvalidContext");
        assert_fails(call_verify_labels(worker, without->target, LABEL_1, VERIFY_FULL), "NotSupported");
        assert_fails(call_verify(worker, &nothing), "InvalidOption");
        nothing.expected = (char *) LABEL_1;
        nothing.entries_per_sec = UINT64_MAX;
        assert_fails(call_verify(worker, &nothing), "InvalidOption");

        /* The worker verifies a read-only mount, too: the root and lost+found. */
        assert_verified(call_verify_labels(worker, frozen->target, LABEL_1, VERIFY_FULL), false, "", 2, 2);
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

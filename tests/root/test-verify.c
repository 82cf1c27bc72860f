/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/protocol.h"
#include "volumes.h"

/* Verifying: how much is looked at, and that nothing else is. */

static Worker *worker;

static void label_all(sd_bus *bus, const TestVolume *v, const char *label) {
        const ChangeArguments a = { .target = v->target, .mount_id = v->mount_id, .context = label };

        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
}

static void test_depths(gconstpointer data) {
        const char *fs_type = data;
        g_autoptr(TestVolume) v = volume_mount("depths", fs_type, 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        g_autofree char *odd = NULL, *none = NULL, *sub = NULL;
        unsigned n;

        if (!v)
                return;
        fill_tree(v->target, 10, 10);
        n = count_labelled(v->target, "");
        label_all(bus, v, LABEL_1);
        odd = path_printf("%s/dir-3/file-7", v->target);
        none = path_printf("%s/dir-4/new\nfile", v->target);
        sub = path_printf("%s/dir-3", v->target);

        static const char *const depths[] = { "root", "full" };
        for (size_t i = 0; i < G_N_ELEMENTS(depths); i++) {
                g_auto(Answer) right = call_verify_depth(bus, v->target, LABEL_1, depths[i]);
                assert_answer(right, "ok");
                g_assert_true(right.walk.matches);
                g_assert_cmpstr(right.walk.actual, ==, LABEL_1);
                g_assert_cmpint(right.walk.counts.mismatched, ==, 0);
                g_assert_cmpint(right.walk.n_issues, ==, 0);
                g_assert_cmpint(right.walk.counts.done, ==, i == 0 ? 1 : n);

                g_auto(Answer) wrong = call_verify_depth(bus, v->target, LABEL_2, depths[i]);
                assert_answer(wrong, "ok");
                g_assert_false(wrong.walk.matches);
                g_assert_cmpint(wrong.walk.counts.mismatched, ==, i == 0 ? 1 : n);
                g_assert_cmpint(wrong.walk.n_issues, >=, 1);
        }

        set_label(odd, LABEL_2);
        g_assert_true(g_file_set_contents(none, "", -1, NULL));
        g_auto(Answer) root = call_verify_depth(bus, v->target, LABEL_1, "root");
        g_assert_true(root.walk.matches);
        g_auto(Answer) full = call_verify_depth(bus, v->target, LABEL_1, "full");
        assert_answer(full, "ok");
        g_assert_false(full.walk.matches);
        g_assert_cmpstr(full.walk.actual, ==, LABEL_1);
        g_assert_cmpint(full.walk.counts.mismatched, ==, 2);
        g_assert_cmpint(full.walk.n_issues, ==, 2);
        for (size_t i = 0; i < 2; i++)
                if (g_str_has_prefix(full.walk.issues[i].path, "dir-3")) {
                        g_assert_cmpstr(full.walk.issues[i].path, ==, "dir-3/file-7");
                        g_assert_cmpstr(full.walk.issues[i].text, ==, "has the label '" LABEL_2 "'");
                } else {
                        g_assert_cmpstr(full.walk.issues[i].path, ==, "dir-4/new\\x0afile");
                        g_assert_cmpstr(full.walk.issues[i].text, ==, "has no label");
                }

        /* A directory that is no mount, and a file. */
        g_auto(Answer) beneath = call_verify_depth(bus, sub, LABEL_1, "full");
        assert_answer(beneath, "ok");
        g_assert_false(beneath.walk.matches);
        g_assert_cmpint(beneath.walk.counts.done, ==, 11);
        g_assert_cmpint(beneath.walk.counts.mismatched, ==, 1);
        g_auto(Answer) file = call_verify_depth(bus, odd, LABEL_2, "full");
        assert_answer(file, "ok");
        g_assert_true(file.walk.matches);
        g_assert_cmpint(file.walk.counts.done, ==, 1);
        g_auto(Answer) wrong_file = call_verify_depth(bus, odd, LABEL_1, "full");
        assert_answer(wrong_file, "ok");
        g_assert_false(wrong_file.walk.matches);
        g_assert_cmpstr(wrong_file.walk.issues[0].path, ==, ".");
}

/* Neither a mount inside nor a symbolic link leads out, and nothing is changed. */
static void test_confined(void) {
        g_autoptr(TestVolume) v = volume_mount("confined", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        g_autofree char *point = path_printf("%s/dir-0", v->target), *out = path_printf("%s/dir-1/out", v->target),
                        *inside = path_printf("%s/wrong", point), *record = NULL, *after = NULL;
        struct stat before, now;
        unsigned n;

        fill_tree(v->target, 3, 3);
        g_assert_cmpint(symlink("/etc", out), ==, 0);
        n = count_labelled(v->target, "");
        label_all(bus, v, LABEL_1);
        record = get_record(v->target);
        g_assert_cmpint(mount("confined", point, "tmpfs", 0, NULL), ==, 0);
        g_assert_true(g_file_set_contents(inside, "", -1, NULL));
        g_assert_cmpint(lstat(v->target, &before), ==, 0);

        g_auto(Answer) a = call_verify_depth(bus, v->target, LABEL_1, "full");
        assert_answer(a, "ok");
        g_assert_true(a.walk.matches);
        g_assert_cmpint(a.walk.counts.done, ==, n);
        after = get_record(v->target);
        g_assert_cmpstr(after, ==, record);
        g_assert_cmpint(lstat(v->target, &now), ==, 0);
        g_assert_cmpint(now.st_atim.tv_sec, ==, before.st_atim.tv_sec);
        g_assert_cmpint(now.st_atim.tv_nsec, ==, before.st_atim.tv_nsec);
        g_assert_cmpint(umount2(point, 0), ==, 0);
}

static void send_verify(sd_bus *bus, const char *path, uint64_t entries_per_sec, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        g_assert_cmpint(
                sd_bus_message_new_method_call(bus, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_VERIFY), >=,
                0);
        g_assert_cmpint(
                sd_bus_message_append(call, WORKER_VERIFY_IN, path, LABEL_1, "full", entries_per_sec, GID_NONE), >=,
                0);
        send_call(bus, g_steal_pointer(&call), ret);
}

/* It reports progress, and ends when the caller hangs up. */
static void test_progress(void) {
        g_autofree char *log = path_printf(TEST_DIR "/verify.strace");
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-o", log, "-e", "trace=ioprio_set", NULL };
        g_autoptr(TestVolume) v = volume_mount("progress", "tmpfs", 0);
        g_autofree char *text = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Progress progress = { .done = 0 };

        if (!has_program("strace")) {
                g_test_skip("strace");
                return;
        }
        fill_tree(v->target, 3, 3);

        /* LeakSanitizer gives up under ptrace. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        g_autoptr(Worker) traced = worker_start("[Worker]\nIOSchedulingClass=idle\n", wrapper);
        g_unsetenv("ASAN_OPTIONS");
        g_autoptr(sd_bus) bus = worker_dial(traced);
        watch_progress(bus, &progress);
        send_verify(bus, v->target, 4, &reply);
        wait_for_progress(bus, &progress, 2, &reply);
        g_assert_null(reply);
        g_assert_cmpint(progress.done, >, 0);
        g_assert_cmpint(shutdown(sd_bus_get_fd(bus), SHUT_WR), ==, 0);
        wait_for_end(bus);

        g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
        g_assert_nonnull(strstr(text, "IOPRIO_CLASS_IDLE"));
}

static void test_refused(void) {
        g_autoptr(TestVolume) without = volume_mount("verify-none", "ramfs", 0),
                              frozen = volume_mount("verify-frozen", "ext4", MS_RDONLY);
        g_autoptr(sd_bus) bus = worker_dial(worker);

        g_auto(Answer) depth = call_verify_depth(bus, frozen->target, LABEL_1, "sample");
        assert_answer(depth, "InvalidOption");
        g_auto(Answer) outside = call_verify_depth(bus, "/etc", LABEL_1, "full");
        assert_answer(outside, "PathNotAllowed");
        g_auto(Answer) malformed = call_verify_depth(bus, frozen->target, "a", "full");
        assert_answer(malformed, "InvalidContext");
        g_auto(Answer) unlabelled = call_verify_depth(bus, without->target, LABEL_1, "full");
        assert_answer(unlabelled, "NotSupported");

        /* To look at, read-only is good enough. */
        g_auto(Answer) read_only = call_verify_depth(bus, frozen->target, LABEL_1, "full");
        assert_answer(read_only, "ok");
        g_assert_false(read_only.walk.matches);
        g_assert_cmpint(read_only.walk.counts.mismatched, ==, 2); /* with lost+found */
}

int main(int argc, char **argv) {
        static const char *const file_systems[] = { "ext4", "xfs", "btrfs", "tmpfs" };
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(file_systems); i++) {
                g_autofree char *path = path_printf("/verify/depths/%s", file_systems[i]);
                g_test_add_data_func(path, file_systems[i], test_depths);
        }
        g_test_add_func("/verify/confined", test_confined);
        g_test_add_func("/verify/progress", test_progress);
        g_test_add_func("/verify/refused", test_refused);
        r = g_test_run();
        worker_stop(worker);
        return r;
}

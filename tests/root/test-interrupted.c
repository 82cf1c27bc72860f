/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volumes.h"

/* Relabelling that is cut short: what the volume says then, and that the next one finishes it. */

static Worker *worker;

/* Progress comes while the walk is under way, and hanging up ends it. */
static void test_hang_up(gconstpointer data) {
        const char *fs_type = data;
        g_autoptr(TestVolume) v = volume_mount("hang-up", fs_type, 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ChangeArguments a;
        Progress progress = { 0 };
        unsigned n, labelled;
        gint64 start;

        if (!v)
                return;
        fill_tree(v->target, 20, 50);
        n = count_labelled(v->target, "");
        a = live(v, LABEL_1);
        a.entries_per_sec = 200;
        watch_progress(bus, &progress);
        send_change(bus, &a, &reply);
        wait_for_progress(bus, &progress, 2, &reply);
        g_assert_null(reply);
        g_assert_cmpint(progress.done, <, n);
        g_assert_cmpint(progress.total, >=, n);
        assert_record(v->target, STATE_PARTIAL, LABEL_1, false, 1);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), <, n);

        start = g_get_monotonic_time();
        g_assert_cmpint(shutdown(sd_bus_get_fd(bus), SHUT_WR), ==, 0);
        wait_for_end(bus);
        g_test_message("gone after %i µs", (int) (g_get_monotonic_time() - start));
        labelled = count_labelled(v->target, LABEL_1);
        g_assert_cmpint(labelled, >, 0);
        g_assert_cmpint(labelled, <, n);
        assert_record(v->target, STATE_PARTIAL, LABEL_1, false, 1);

        /* The rest, and no more; ext4 is asked to write all labels, and leaves alone those that are right. */
        g_autoptr(sd_bus) next = worker_dial(worker);
        a.entries_per_sec = 0;
        g_auto(Answer) rest = call_change(next, &a);
        assert_answer(rest, "ok");
        g_assert_cmpint(rest.walk.counts.changed, ==, g_str_equal(fs_type, "ext4") ? n : n - labelled);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 3);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);
}

/* So it does in a directory of very many files. It takes some milliseconds; here the machine may have other things to
 * do. */
static void test_hang_up_in_large_directory(void) {
        enum { FILES = 100000 };
        g_autoptr(TestVolume) v = volume_mount("large", "tmpfs", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ChangeArguments a = live(v, LABEL_1);
        Progress progress = { 0 };
        gint64 start, usec;
        unsigned labelled;

        for (unsigned i = 0; i < FILES; i++) {
                g_autofree char *path = path_printf("%s/%u", v->target, i);

                must(mknod(path, S_IFREG | 0600, 0));
        }
        a.entries_per_sec = FILES / 10;
        watch_progress(bus, &progress);
        send_change(bus, &a, &reply);
        wait_for_progress(bus, &progress, 2, &reply);

        start = g_get_monotonic_time();
        must(shutdown(sd_bus_get_fd(bus), SHUT_WR));
        wait_for_end(bus);
        usec = g_get_monotonic_time() - start;
        g_test_message("gone after %i µs", (int) usec);
        g_assert_cmpint(usec, <, G_USEC_PER_SEC);
        labelled = count_labelled(v->target, LABEL_1);
        g_assert_cmpint(labelled, >, 0);
        g_assert_cmpint(labelled, <, FILES);
        assert_record(v->target, STATE_PARTIAL, LABEL_1, false, 1);
}

/* Killed anywhere, the volume says that it is not done, and the next relabel does it. */
typedef struct Kill {
        const char *name, *injection, *effect;
} Kill;

static void test_killed_at(gconstpointer data) {
        const Kill *k = data;
        const char *injection = k->injection;
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", injection, NULL };
        g_autoptr(TestVolume) v = volume_mount("killed-at", "ext4", 0);
        ChangeArguments a = live(v, LABEL_1);
        unsigned n;

        if (!has_program("strace")) {
                g_test_skip("strace");
                return;
        }
        fill_tree(v->target, 5, 20);
        n = count_labelled(v->target, "");
        set_record(v->target,
                   "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 context=" LABEL_2);

        a.effect = k->effect;
        /* LeakSanitizer gives up under ptrace. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        g_autoptr(Worker) traced = worker_start(NULL, wrapper);
        g_unsetenv("ASAN_OPTIONS");
        g_autoptr(sd_bus) bus = worker_dial(traced);
        sd_bus_message *reply = NULL;
        send_change(bus, &a, &reply);
        wait_for_end(bus);
        g_assert_null(reply);

        g_autofree char *root = get_label(v->target), *record = get_record(v->target);
        g_assert_nonnull(record);
        if (strstr(record, LABEL_2)) {
                g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, 0);
                assert_record(v->target, STATE_COMPLETE, LABEL_2, false, 7);
        } else if (strstr(record, "partial"))
                assert_record(v->target, STATE_PARTIAL, LABEL_1, false, 8);
        else {
                /* Never complete without what others may do. */
                if (!k->effect)
                        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 9);
                else if (g_str_equal(k->effect, "taint"))
                        assert_record(v->target, STATE_COMPLETE, LABEL_1, true, 10);
                else
                        assert_record(v->target, STATE_UNKNOWN, "", false, 10);
                g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);
        }
        if (g_str_equal(root, LABEL_1))
                g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);

        a.effect = NULL;
        g_autoptr(sd_bus) next = worker_dial(worker);
        g_auto(Answer) rest = call_change(next, &a);
        assert_answer(rest, "ok");
        g_assert_cmpint(rest.walk.counts.failed, ==, 0);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);
        g_auto(Answer) verified = call_verify_depth(next, v->target, LABEL_1, "full");
        g_assert_true(verified.walk.matches);
        g_assert_nonnull(strstr(rest.record, "label=complete"));
}

/* The child of the only connection. */
static pid_t find_child(const Worker *w) {
        g_autofree char *path = path_printf("/proc/%i/task/%i/children", (int) w->pid, (int) w->pid);

        for (;;) {
                g_autofree char *text = NULL;
                g_auto(GStrv) pids = NULL;

                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                pids = g_strsplit(g_strstrip(text), " ", -1);
                if (g_strv_length(pids) == 1)
                        return (pid_t) g_ascii_strtoll(pids[0], NULL, 10);
                g_usleep(1000);
        }
}

/* The same at whatever moment. */
static void test_killed_anytime(gconstpointer data) {
        const char *fs_type = data;
        g_autoptr(TestVolume) v = volume_mount("killed-anytime", fs_type, 0);
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        unsigned n, partial = 0;

        if (!v)
                return;
        fill_tree(v->target, 20, 50);
        n = count_labelled(v->target, "");

        for (unsigned i = 0; i < 20; i++) {
                ChangeArguments a = live(v, i % 2 == 0 ? LABEL_1 : LABEL_2);
                g_autoptr(sd_bus) bus = worker_dial(w);
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
                pid_t pid;

                g_auto(Answer) there = call_inspect(bus, v->target);
                assert_answer(there, "ok");
                pid = find_child(w);
                a.entries_per_sec = 20000;
                a.blind = i % 3 == 0;
                send_change(bus, &a, &reply);
                g_usleep((gulong) g_test_rand_int_range(0, 100 * 1000));
                g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
                wait_for_end(bus);

                g_autofree char *record = get_record(v->target);
                if (record && strstr(record, "partial"))
                        partial++;
                if (record && strstr(record, "complete") && strstr(record, a.context))
                        g_assert_cmpint(count_labelled(v->target, a.context), ==, n);

                g_autoptr(sd_bus) next = worker_dial(w);
                a.entries_per_sec = 0;
                a.blind = false;
                g_auto(Answer) rest = call_change(next, &a);
                assert_answer(rest, "ok");
                g_assert_cmpint(rest.walk.counts.failed, ==, 0);
                g_assert_cmpint(count_labelled(v->target, a.context), ==, n);
                g_assert_nonnull(strstr(rest.record, "label=complete"));
                g_assert_cmpint(shutdown(sd_bus_get_fd(next), SHUT_WR), ==, 0);
                wait_for_end(next);
        }
        g_test_message("%u of 20 were partial", partial);
}

int main(int argc, char **argv) {
        static const char *const file_systems[] = { "ext4", "xfs", "btrfs", "tmpfs" };
        static const Kill kills[] = {
                { "record-partial", "inject=fsetxattr:signal=KILL:when=1" },
                { "record-synced", "inject=fsync:signal=KILL:when=1" },
                { "label", "inject=lsetxattr:signal=KILL:when=5" },
                { "synced", "inject=syncfs:signal=KILL:when=1" },
                { "root", "inject=fsetxattr:signal=KILL:when=2" },
                { "root-synced", "inject=fsync:signal=KILL:when=2" },
                { "record-complete", "inject=fsetxattr:signal=KILL:when=3" },
                { "complete-synced", "inject=fsync:signal=KILL:when=3" },
                { "tainted", "inject=fsetxattr:signal=KILL:when=3", "taint" },
                { "tainted-synced", "inject=fsync:signal=KILL:when=3", "taint" },
                { "forgotten", "inject=fsetxattr:signal=KILL:when=3", "forget" },
                { "forgotten-synced", "inject=fsync:signal=KILL:when=3", "forget" },
        };
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(file_systems); i++) {
                const char *fs_type = file_systems[i];
                g_autofree char *hang_up = path_printf("/interrupted/hang-up/%s", fs_type),
                                *killed = path_printf("/interrupted/killed/anytime/%s", fs_type);

                g_test_add_data_func(hang_up, fs_type, test_hang_up);
                g_test_add_data_func(killed, fs_type, test_killed_anytime);
        }
        g_test_add_func("/interrupted/hang-up/large-directory", test_hang_up_in_large_directory);
        for (size_t i = 0; i < G_N_ELEMENTS(kills); i++) {
                g_autofree char *path = path_printf("/interrupted/killed/%s", kills[i].name);
                g_test_add_data_func(path, &kills[i], test_killed_at);
        }
        r = g_test_run();
        worker_stop(worker);
        return r;
}

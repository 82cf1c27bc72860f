/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "volumes.h"
#include "wire/protocol.h"

/* A walk ends early. The mark says "partial" then, and the next walk finishes it. */

static Operation *start_slowly(const TestVolume *v, uint64_t entries_per_sec) {
        Arguments a = live(v, wanted_labels(LABEL_1));
        Operation *o;

        a.entries_per_sec = entries_per_sec;
        o = operation_start(worker, WORKER_CHANGE, &a);
        operation_wait(o, (o->heard.n_progress >= 2 && o->heard.progress.done > 1) || o->reply);
        g_assert_null(o->reply);
        return o;
}

/* The child reports its progress during the walk, and ends when selvold hangs up. */
TEST_DISKS(test_hang_up, "/interrupted/hang-up", "ext4", "xfs", "btrfs", "tmpfs") {
        g_autoptr(TestVolume) v = volume_mount("hang-up", fs_type, 0);
        unsigned n, labeled;
        Arguments a;
        Operation *o;
        pid_t child;

        n = fill_tree(v->target, 20, 50);
        o = start_slowly(v, 100);
        child = worker_find_child(worker);
        g_assert_cmpint(o->heard.progress.done, <, n);
        g_assert_cmpint(o->heard.total, >=, n);
        assert_mark(v->target, MARK_LABELS("partial", "no", LABEL_1));
        g_assert_cmpuint(o->heard.n_walks, ==, 1);
        g_assert_cmpint(o->heard.begun.label_state, ==, FILES_PARTIAL);
        g_assert_cmpint(count_labeled(v->target, LABEL_1), <, n);

        assert_fails(operation_hang_up(o), "gone");
        g_assert_cmpint(kill(child, 0), <, 0);
        g_assert_cmpint(errno, ==, ESRCH);
        labeled = count_labeled(v->target, LABEL_1);
        g_assert_cmpint(labeled, >, 0);
        g_assert_cmpint(labeled, <, n);
        assert_mark(v->target, MARK_LABELS("partial", "no", LABEL_1));

        /* The root has another label, so on ext4 the next walk writes all labels, not only the missing. */
        a = live(v, wanted_labels(LABEL_1));
        g_auto(Answer) rest = expect_ok(call_change(worker, &a));
        g_assert_cmpint(rest.files.relabel_reason, ==, RELABEL_REASON_PARTIAL);
        g_assert_cmpint(rest.walk.counts.changed, ==, g_str_equal(fs_type, "ext4") ? n : n - labeled);
        assert_mark(v->target, MARK_LABELS("complete", "no", LABEL_1));
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
}

/* The child also ends in the middle of a large directory, whose walk would take a hundred seconds. */
TEST(test_hang_up_in_large_directory, "/interrupted/hang-up/large-directory") {
        enum { FILES = 100000 };
        g_autoptr(TestVolume) v = volume_mount("large", "tmpfs", 0);
        unsigned labeled;
        Operation *o;

        for (unsigned i = 0; i < FILES; i++) {
                g_autofree char *path = path_printf("%s/%u", v->target, i);

                must(mknod(path, S_IFREG | 0600, 0));
        }
        o = start_slowly(v, FILES / 100);
        assert_fails(operation_hang_up(o), "gone");
        labeled = count_labeled(v->target, LABEL_1);
        g_assert_cmpint(labeled, >, 0);
        g_assert_cmpint(labeled, <, FILES / 2);
        assert_mark(v->target, MARK_LABELS("partial", "no", LABEL_1));
}

/* strace kills the child at a system call. The mark then says "partial"; the next relabel finishes. */
typedef struct Kill {
        const char *name, *injection;
        MarkChange change;
        const char *after; /* the mark when all files have their label */
} Kill;

static void test_killed_at(gconstpointer data) {
        static const char before[] = MARK_LABELS("complete", "no", LABEL_2),
                          partial[] = MARK_LABELS("partial", "no", LABEL_1);
        const Kill *k = data;
        g_autoptr(Worker) traced = worker_start_traced(k->injection);
        g_autoptr(TestVolume) v = volume_mount("killed-at", "ext4", 0);
        Arguments a = live(v, wanted_labels(LABEL_1));
        unsigned n;

        if (!traced)
                return;
        n = fill_tree(v->target, 5, 20);
        set_mark(v->target, before);

        a.change = k->change;
        assert_fails(call_change(traced, &a), "gone");

        g_autofree char *root = get_label(v->target), *mark = get_mark(v->target);
        g_assert_nonnull(mark);
        if (strstr(mark, LABEL_2)) {
                g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, 0);
                assert_mark(v->target, before);
        } else if (strstr(mark, "partial"))
                assert_mark(v->target, partial);
        else {
                assert_mark(v->target, k->after);
                g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
        }
        if (g_str_equal(root, LABEL_1))
                g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);

        a.change = MARK_KEEP;
        a.files.force = true;
        g_auto(Answer) rest = expect_ok(call_change(worker, &a));
        g_assert_cmpint(rest.walk.counts.failed, ==, 0);
        g_assert_cmpint(count_labeled(v->target, LABEL_1), ==, n);
        assert_says(call_verify_labels(worker, v->target, LABEL_1, VERIFY_FULL), matches, ==, true);
        g_assert_cmpint(rest.mark.label_state, ==, FILES_COMPLETE);
}

/* The child is killed at a moment that is drawn by lot. */
TEST_DISKS(test_killed_anytime, "/interrupted/killed/anytime", "ext4", "xfs", "btrfs", "tmpfs") {
        g_autoptr(TestVolume) v = volume_mount("killed-anytime", fs_type, 0);
        unsigned n, partial = 0;

        n = fill_tree(v->target, 20, 50);

        for (unsigned i = 0; i < 20 || partial == 0; i++) {
                const char *label = i % 2 == 0 ? LABEL_1 : LABEL_2;
                Arguments a = live(v, wanted_labels(label));
                Operation *o;
                pid_t child;

                a.entries_per_sec = 10000;
                a.hold_plan = true;
                o = operation_start_held(worker, WORKER_CHANGE, &a);

                child = worker_find_child(worker);
                operation_answer(o);
                g_usleep((gulong) g_test_rand_int_range(0, 100 * 1000));
                (void) kill(child, SIGKILL); /* the child may have ended already */
                g_auto(Answer) killed = operation_finish(o);
                g_assert_true(g_str_equal(killed.kind, "gone") || g_str_equal(killed.kind, "ok"));

                g_autofree char *mark = get_mark(v->target);
                if (mark && strstr(mark, "partial"))
                        partial++;
                /* The child writes the mark before it asks Walk. */
                if (killed.heard.n_walks > 0)
                        g_assert_nonnull(strstr(mark, label));
                if (mark && strstr(mark, "complete") && strstr(mark, label))
                        g_assert_cmpint(count_labeled(v->target, label), ==, n);

                a.entries_per_sec = 0;
                a.hold_plan = false;
                g_auto(Answer) rest = expect_ok(call_change(worker, &a));
                g_assert_cmpint(rest.walk.counts.failed, ==, 0);
                g_assert_cmpint(count_labeled(v->target, label), ==, n);
                g_assert_cmpint(rest.mark.label_state, ==, FILES_COMPLETE);
        }
}

void add_tests(void) {
#define AFTER MARK_LABELS("complete", "no", LABEL_1)
        static const Kill kills[] = {
                { "mark-partial", "inject=fsetxattr:signal=KILL:when=1", MARK_KEEP, AFTER },
                { "mark-synced", "inject=fsync:signal=KILL:when=1", MARK_KEEP, AFTER },
                { "label", "inject=lsetxattr:signal=KILL:when=5", MARK_KEEP, AFTER },
                { "synced", "inject=syncfs:signal=KILL:when=1", MARK_KEEP, AFTER },
                { "root", "inject=fsetxattr:signal=KILL:when=2", MARK_KEEP, AFTER },
                { "root-synced", "inject=fsync:signal=KILL:when=2", MARK_KEEP, AFTER },
                { "mark-complete", "inject=fsetxattr:signal=KILL:when=3", MARK_KEEP, AFTER },
                { "complete-synced", "inject=fsync:signal=KILL:when=3", MARK_KEEP, AFTER },
                { "tainted", "inject=fsetxattr:signal=KILL:when=3", MARK_TAINT,
                  MARK_LABELS("complete", "yes", LABEL_1) },
                { "tainted-synced", "inject=fsync:signal=KILL:when=3", MARK_TAINT,
                  MARK_LABELS("complete", "yes", LABEL_1) },
                { "reset", "inject=fsetxattr:signal=KILL:when=3", MARK_RESET_LABELS, MARK_NOTHING },
                { "reset-synced", "inject=fsync:signal=KILL:when=3", MARK_RESET_LABELS, MARK_NOTHING },
        };
#undef AFTER

        worker = worker_start(NULL, NULL);
        add_rows("/interrupted/killed", kills, test_killed_at);
}

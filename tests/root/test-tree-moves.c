/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "meddler.h"
#include "scene.h"

/* Trees that others change while they are walked. */

/* In the place of the C library's, for the code that is tested too. */
static void (*after_getdents)(void);

ssize_t getdents64(int fd, void *buffer, size_t size) {
        ssize_t n = syscall(SYS_getdents64, fd, buffer, size);

        if (n > 0 && after_getdents)
                after_getdents();
        return n;
}

static atomic_uint n_looks;

ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size) {
        n_looks++;
        return syscall(SYS_lgetxattr, path, name, value, size);
}

static void (*before_root_write)(void);
static bool late_fails; /* the label of "late" can't be written */

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags) {
        if (before_root_write)
                before_root_write();
        return (int) syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags) {
        if (late_fails && strcmp(path, "late") == 0) {
                errno = EIO;
                return -1;
        }
        return (int) syscall(SYS_lsetxattr, path, name, value, size, flags);
}

/* A directory and a symbolic link that leads outside, exchanged as fast as can be. */
static void exchange(void *userdata, unsigned i) {
        (void) renameat2(AT_FDCWD, "d/dir", AT_FDCWD, "d/link", RENAME_EXCHANGE);
}

static void assert_labels_inside(int fd, unsigned n, const char *label) {
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = g_strdup_printf("/proc/self/fd/%i/%u", fd, i);

                assert_label(path, label);
        }
}

static void test_exchange(void) {
        g_auto(Scene) s = scene_on_tmpfs();
        Meddler m = { .meddle = exchange };
        int fd, inside;

        must(mkdir("outside", 0755));
        write_file("outside/file");
        must(mkdir("outside/dir", 0755));
        must(mkdir("volume", 0755));
        must(mkdir("volume/d", 0755));
        must(mkdir("volume/d/dir", 0755));
        write_files("volume/d/dir/", 50);
        inside = open_directory("volume/d/dir");
        must(symlink("../../outside", "volume/d/link"));
        fd = open_directory("volume");
        must(fchdir(fd));
        meddler_start(&m);
        for (unsigned i = 0; i < (g_test_slow() ? 300 : 60) || m.rounds <= 1000; i++) {
                const char *label = i % 2 ? WANTED : OTHER;
                g_auto(WalkResult) r = walk(CHANGE(fd, .context = label, .tree.threads = 2));

                g_assert_cmpuint(r.counts.failed, ==, 0);
                if (r.counts.modified == 0)
                        assert_labels_inside(inside, 50, label);
        }
        meddler_stop(&m);
        g_usleep(100000);
        g_auto(WalkResult) r = walk(CHANGE(fd));
        g_assert_cmpuint(r.counts.failed, ==, 0);
        g_assert_cmpuint(r.counts.modified, ==, 0);
        assert_labels_inside(inside, 50, WANTED);
        assert_label("../outside", "");
        assert_label("../outside/file", "");
        assert_label("../outside/dir", "");
        close(inside);
        close(fd);
        must(fchdir(s.fd));
}

enum { MEDDLE_DIRS = 20, MEDDLE_MOVES = 400 };

/* Directories 00 to 19, and so many files in them by turns. */
static void write_dirs(unsigned n_files) {

        for (unsigned i = 0; i < MEDDLE_DIRS; i++)
                must(mkdir(numbered("%02u", i), 0755));
        for (unsigned i = 0; i < n_files; i++)
                write_file(numbered("%02u/%u", i % MEDDLE_DIRS, i));
}

/* Files appear, vanish, and move to directories that may have been walked already, or not yet. */
static void move_about(void *userdata, unsigned i) {
        const char *from = numbered("%02u/%u", i % MEDDLE_DIRS, i);

        if (i >= MEDDLE_MOVES) {
                g_usleep(1000);
                return;
        }
        if (i % 3 == 0)
                must(unlink(from));
        else
                must(rename(from, numbered("%02u/moved-%u", (i * 7 + 3) % MEDDLE_DIRS, i)));
        write_file(numbered("%02u/new-%u", (i * 11 + 5) % MEDDLE_DIRS, i));
        if (i % 10 == 0) {
                must(mkdir(numbered("%02u/sub-%u", i % MEDDLE_DIRS, i), 0755));
                write_file(numbered("%02u/sub-%u/file", i % MEDDLE_DIRS, i));
        }
        g_usleep(1000);
}

static void test_changes_meanwhile(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = move_about };

        if (!scene_enter(&s, fs_type, NULL))
                return;
        write_dirs(2000);
        g_usleep(100000); /* all of that is long ago */
        meddler_start(&m);
        /* Slow enough for everything to happen during the first pass, but on a machine that is busy: then
         * the walk says that directories were modified to the last, and the next one has to find what was
         * missed. */
        for (unsigned i = 0;; i++) {
                g_auto(WalkResult) r = walk(CHANGE(s.fd, .tree.entries_per_sec = 1500));

                g_assert_cmpuint(r.counts.failed, ==, 0);
                if (r.counts.modified == 0 && m.rounds > MEDDLE_MOVES)
                        break;
                g_assert_cmpuint(i, <, 10);
        }
        meddler_stop(&m);
        assert_all_right(s.fd, 0);
}

static unsigned n_reads; /* of entries, by a walk with one thread, which has a working directory of its own */
static int tree_fd;

/* Wrong files move, one after each read, between directories that are all right otherwise, and the times of
 * these are set back as rsync(1) and tar(1) do. */
static void move_wrong(void) {
        const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
        unsigned i = n_reads++, there = (i + 7) % MEDDLE_DIRS;

        if (i >= MEDDLE_DIRS)
                return;
        must(renameat(tree_fd, numbered("%02u/wrong-%u", i, i), tree_fd, numbered("%02u/moved-%u", there, i)));
        must(utimensat(tree_fd, numbered("%02u", i), old, 0));
        must(utimensat(tree_fd, numbered("%02u", there), old, 0));
}

static void test_moved_meanwhile(void) {
        g_auto(Scene) s = scene_on_tmpfs();

        write_dirs(2000);
        (void) walk_well(CHANGE(s.fd));
        for (unsigned i = 0; i < MEDDLE_DIRS; i++)
                write_file(numbered("%02u/wrong-%u", i, i));
        g_usleep(100000);
        n_reads = 0;
        tree_fd = s.fd;
        after_getdents = move_wrong;
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .tree.threads = 1)).changed, ==, MEDDLE_DIRS);
        after_getdents = NULL;
        g_assert_cmpuint(n_reads, >, MEDDLE_DIRS);
        assert_all_right(s.fd, 0);
}

static bool moves_back;

static void move_halfway(void) {
        if (++n_reads == MEDDLE_DIRS / 2)
                must(renameat(tree_fd, moves_back ? "19/wrong" : "00/wrong", tree_fd,
                              moves_back ? "00/wrong" : "19/wrong"));
}

static void write_wrong_file(const char *path) {
        write_file(path);
}

/* Its times say that nothing has happened to it for long. */
static void write_wrong_dir(const char *path) {
        must(mkdir(path, 0755));
        for (unsigned i = 0; i < 50; i++) {
                g_autofree char *file = g_strdup_printf("%s/%u", path, i);

                write_file(file);
        }
}

static void spoil_file(const char *path) {
        set_label(path, OTHER);
}

static void spoil_dir(const char *path) {
        for (unsigned i = 0; i < 50; i++) {
                g_autofree char *file = g_strdup_printf("%s/%u", path, i);

                set_label(file, OTHER);
        }
}

typedef struct Moved {
        void (*write)(const char *path);
        void (*spoil)(const char *path);
        uint64_t wrong;
} Moved;

static const Moved moved_file = { write_wrong_file, spoil_file, 1 }, moved_dir = { write_wrong_dir, spoil_dir, 50 };

/* One of the two directories is walked before the move and the other one after it, so in one direction the
 * first pass finds nothing to write. */
static void test_one_moved_meanwhile(gconstpointer data) {
        g_auto(Scene) s = scene_on_tmpfs();
        const Moved *moved = data;

        write_dirs(1000);
        moved->write("00/wrong");
        (void) walk_well(CHANGE(s.fd));
        for (unsigned back = 0; back < 2; back++) {
                moved->spoil(back ? "19/wrong" : "00/wrong");
                g_usleep(100000);
                n_reads = 0;
                tree_fd = s.fd;
                moves_back = back;
                after_getdents = move_halfway;
                const WalkCounts counts = walk_well(CHANGE(s.fd, .tree.threads = 1));
                after_getdents = NULL;
                g_assert_cmpuint(n_reads, >, MEDDLE_DIRS);
                g_assert_cmpuint(counts.changed, ==, moved->wrong);
                g_assert_cmpuint(counts.modified, ==, 0);
                assert_all_right(s.fd, 0);
        }
}

/* What is at rest is walked once, also if the root was written to just before, as its record is; times in
 * the future or long ago are no sign of anything. */
static void test_at_rest(void) {
        const struct timespec future[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } },
                              past[2] = { { .tv_sec = -1000 }, { .tv_sec = -1000 } };
        g_auto(Scene) s = scene_on_tmpfs();

        must(mkdir("future", 0755));
        must(mkdir("past", 0755));
        write_file("future/file");
        write_file("past/file");
        must(utimensat(AT_FDCWD, "future", future, 0));
        must(utimensat(AT_FDCWD, "past", past, 0));
        g_usleep(100000);
        must(setxattr(".", "trusted.selvol", "x", 1, 0));
        n_looks = 0;
        const WalkCounts counts = walk_well(CHANGE(s.fd));
        g_assert_cmpuint(counts.changed, ==, 5);
        g_assert_cmpuint(counts.modified, ==, 0);
        g_assert_cmpuint(n_looks, ==, 4); /* the root is looked at by its descriptor */
        assert_all_right(s.fd, 5);
}

static void rename_dir(void) {
        static bool there;

        must(rename(there ? "d/there" : "d/here", there ? "d/here" : "d/there"));
        there = !there;
}

/* A directory that is never where it was read to be is not given up as removed: it is known to be missed. */
static void test_never_there(void) {
        g_auto(Scene) s = scene_on_tmpfs();

        must(mkdir("d", 0755));
        must(mkdir("d/here", 0755));
        write_file("d/here/file");
        after_getdents = rename_dir;
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .tree.threads = 1)).modified, >, 0);
        after_getdents = NULL;
        assert_label("d", WANTED);
}

static void link_out(void) {
        if (access("d/file", F_OK) == 0 && access("d/link", F_OK) < 0)
                must(link("../outside", "d/link"));
}

/* A name that becomes a hard link to a file outside after its directory was read is left alone too, and
 * told. */
static void test_linked_meanwhile(void) {
        g_auto(Scene) s = scene_on_tmpfs();
        int fd;

        write_file("outside");
        must(mkdir("part", 0755));
        must(mkdir("part/d", 0755));
        write_file("part/d/file");
        fd = open_directory("part");
        must(fchdir(fd));
        g_usleep(100000);
        after_getdents = link_out;
        g_assert_cmpuint(walk_well(CHANGE(fd, .tree.part = true, .tree.threads = 1)).skipped, >, 0);
        after_getdents = NULL;
        assert_label("../outside", "");
        close(fd);
        must(fchdir(s.fd));
}

static void write_late(void) {
        before_root_write = NULL;
        write_file("late");
}

/* What is created in the root before its label is written gets the old one from it. */
static void test_late(gconstpointer fails) {
        g_auto(Scene) s = scene_on_tmpfs();

        write_file("file");
        g_usleep(100000);
        before_root_write = write_late;
        late_fails = fails;
        g_auto(WalkResult) r = walk(CHANGE(s.fd));
        g_assert_null(before_root_write);
        g_assert_cmpuint(r.counts.failed, ==, fails ? 1 : 0);
        g_assert_cmpuint(r.counts.changed, ==, fails ? 2 : 3);
        if (fails)
                assert_issue(&r, "late", EIO);
        late_fails = false;
        assert_label(".", WANTED);
        assert_label("late", fails ? "" : WANTED);
}

static void swap_files(void) {
        const bool swapped = access("00/b", F_OK) == 0;

        must(rename(swapped ? "00/b" : "00/a", swapped ? "00/a" : "00/b"));
}

/* Nothing is left to do, but as files move all the time one might have been missed: the next walk finds it.
 */
static void test_restless(void) {
        g_auto(Scene) s = scene_on_tmpfs();

        must(mkdir("00", 0755));
        write_file("00/a");
        after_getdents = swap_files;
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .tree.threads = 1)).modified, >, 0);
        after_getdents = NULL;
        g_usleep(100000);
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).modified, ==, 0);
        assert_all_right(s.fd, 3);
}

static void create_files(void *userdata, unsigned i) {
        write_file(numbered("00/new-%u", i));
        g_usleep(5000);
}

/* A tree that nobody leaves alone is looked at twice, and not called done. */
static void test_never_at_rest(void) {
        enum { FIRST = 50 };
        g_auto(Scene) s = scene_on_tmpfs();
        Meddler m = { .meddle = create_files };

        must(mkdir("00", 0755));
        write_files("00/", FIRST);
        meddler_start(&m);
        n_looks = 0;
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .tree.entries_per_sec = 1000)).modified, >, 0);
        meddler_stop(&m);
        g_assert_cmpuint(n_looks, <=, 2 * (FIRST + m.rounds));
        g_usleep(100000);
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).modified, ==, 0);
        assert_all_right(s.fd, 0);
}

void add_tests(void) {
        add_words("/tree-moves/changes-meanwhile", test_changes_meanwhile, "tmpfs", "ext4", "xfs", "btrfs", NULL);
        g_test_add_func("/tree-moves/exchange", test_exchange);
        g_test_add_func("/tree-moves/moved-meanwhile", test_moved_meanwhile);
        g_test_add_data_func("/tree-moves/one-moved-meanwhile/file", &moved_file, test_one_moved_meanwhile);
        g_test_add_data_func("/tree-moves/one-moved-meanwhile/directory", &moved_dir, test_one_moved_meanwhile);
        g_test_add_func("/tree-moves/at-rest", test_at_rest);
        g_test_add_func("/tree-moves/never-there", test_never_there);
        g_test_add_func("/tree-moves/linked-meanwhile", test_linked_meanwhile);
        g_test_add_data_func("/tree-moves/late/done", NULL, test_late);
        g_test_add_data_func("/tree-moves/late/fails", "EIO", test_late);
        g_test_add_func("/tree-moves/restless", test_restless);
        g_test_add_func("/tree-moves/never-at-rest", test_never_at_rest);
}

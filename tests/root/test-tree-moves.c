/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "meddler.h"
#include "scene.h"

/* Other processes change trees while the engine walks over them. */

/* These functions replace those of the C library, also for the tested code. A test sets the hooks. */
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
static bool late_fails; /* lsetxattr(2) of "late" fails */

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

/* The link leads outside. */
static void exchange(void *userdata, unsigned i) {
        (void) renameat2(AT_FDCWD, "d/dir", AT_FDCWD, "d/link", RENAME_EXCHANGE);
}

static void assert_labels_inside(int fd, unsigned n, const char *label) {
        for (unsigned i = 0; i < n; i++)
                assert_label(numbered("/proc/self/fd/%i/%u", fd, i), label);
}

TEST(test_exchange, "/tree-moves/exchange") {
        g_auto(Scene) s = scene_on("tmpfs");
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

/* Makes the directories 00 to 19, and spreads the files over them. */
static void write_dirs(unsigned n_files) {
        for (unsigned i = 0; i < MEDDLE_DIRS; i++)
                must(mkdir(numbered("%02u", i), 0755));
        for (unsigned i = 0; i < n_files; i++)
                write_file(numbered("%02u/%u", i % MEDDLE_DIRS, i));
}

/* Makes and removes files, and moves some to directories that the engine may have read already. */
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

TEST_DISKS(test_changes_meanwhile, "/tree-moves/changes-meanwhile", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Scene) s = scene_on(fs_type);
        Meddler m = { .meddle = move_about };

        write_dirs(2000);
        g_usleep(100000); /* so that the engine takes the directories for old */
        meddler_start(&m);
        /* All changes happen during the first walk, unless the machine is busy. The walk then says that
         * directories were still being modified at its end, and the next walk has to find the files that this
         * one has missed. */
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

static unsigned n_reads; /* calls of getdents64(2) */
static int tree_fd;      /* as the thread that walks has a working directory of its own */

/* Moves a file with a wrong label after each read, and sets the times of both directories back, as rsync(1)
 * and tar(1) do. */
static void move_wrong(void) {
        const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
        unsigned i = n_reads++, there = (i + 7) % MEDDLE_DIRS;

        if (i >= MEDDLE_DIRS)
                return;
        must(renameat(tree_fd, numbered("%02u/wrong-%u", i, i), tree_fd, numbered("%02u/moved-%u", there, i)));
        must(utimensat(tree_fd, numbered("%02u", i), old, 0));
        must(utimensat(tree_fd, numbered("%02u", there), old, 0));
}

TEST(test_moved_meanwhile, "/tree-moves/moved-meanwhile") {
        g_auto(Scene) s = scene_on("tmpfs");

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

static const char *moves_from, *moves_to;

static void move_halfway(void) {
        if (++n_reads == MEDDLE_DIRS / 2)
                must(renameat(tree_fd, moves_from, tree_fd, moves_to));
}

/* A file moves, or a directory of 50 files whose own times are old. The engine reads one of the places before
 * the move and the other one after it, so its first pass finds nothing to write in one direction. */
TEST_WORDS(test_one_moved_meanwhile, "/tree-moves/one-moved-meanwhile", word, "file", "directory") {
        const bool is_dir = g_str_equal(word, "directory");
        g_auto(Scene) s = scene_on("tmpfs");
        const unsigned n_wrong = is_dir ? 50 : 1;

        write_dirs(1000);
        if (is_dir) {
                must(mkdir("00/wrong", 0755));
                write_files("00/wrong/", n_wrong);
        } else
                write_file("00/wrong");
        (void) walk_well(CHANGE(s.fd));
        for (unsigned back = 0; back < 2; back++) {
                moves_from = back ? "19/wrong" : "00/wrong";
                moves_to = back ? "00/wrong" : "19/wrong";
                for (unsigned i = 0; i < n_wrong; i++)
                        set_label(is_dir ? numbered("%s/%u", moves_from, i) : moves_from, OTHER);
                g_usleep(100000);
                n_reads = 0;
                tree_fd = s.fd;
                after_getdents = move_halfway;
                const WalkCounts counts = walk_well(CHANGE(s.fd, .tree.threads = 1));
                after_getdents = NULL;
                g_assert_cmpuint(n_reads, >, MEDDLE_DIRS);
                g_assert_cmpuint(counts.changed, ==, n_wrong);
                g_assert_cmpuint(counts.modified, ==, 0);
                assert_all_right(s.fd, 0);
        }
}

enum { RENAMED_FILES = 700, RENAMES = 60 };

static uint8_t renamed_to[RENAMED_FILES]; /* the directory that has the file */
static atomic_uint renames_left;

static void rename_some(void *userdata, unsigned i) {
        unsigned file = i * 37 % RENAMED_FILES, to = (renamed_to[file] + 7U) % MEDDLE_DIRS;

        if (renames_left > 0) {
                must(rename(numbered("%02u/%u", renamed_to[file], file), numbered("%02u/%u", to, file)));
                renamed_to[file] = (uint8_t) to;
                renames_left--;
        }
        g_usleep(1000);
}

/* Returns whether the walk says that it is complete; then all files are right. */
static bool walk_beside_renames(int fd, FilesSpec spec) {
        spec.mode = FILES_CHANGE;
        spec.tree = (TreeSpec){ .fd = fd, .threads = 2, .entries_per_sec = 7000 };
        spec.contended = true;
        renames_left = RENAMES;
        g_auto(WalkResult) r = walk(spec);

        g_assert_cmpuint(r.counts.failed, ==, 0);
        if (r.counts.modified > 0)
                return false;
        while (renames_left > 0)
                g_usleep(1000);
        spec.mode = FILES_VERIFY;
        spec.tree.entries_per_sec = 0;
        const WalkCounts found = walk_well(spec);
        g_assert_cmpuint(found.mismatched + found.misowned, ==, 0);
        return true;
}

/* Files move between directories while the engine changes all labels or groups. */
TEST_WORDS(test_renames, "/tree-moves/renames", fs_type, "ext4", "ext4-128", "xfs", "btrfs") {
        const Ownership groups[] = { { .gid = 1000 }, { .gid = 2000 } };
        g_auto(Scene) s = scene_on(fs_type);
        Meddler m = { .meddle = rename_some };
        unsigned n_complete = 0;

        write_dirs(RENAMED_FILES);
        for (unsigned i = 0; i < RENAMED_FILES; i++)
                renamed_to[i] = i % MEDDLE_DIRS;
        renames_left = 0;
        meddler_start(&m);
        for (unsigned i = 0; i < (g_test_slow() ? 40 : 4); i++) {
                n_complete += walk_beside_renames(s.fd, (FilesSpec){ .context = i % 2 ? WANTED : OTHER });
                n_complete += walk_beside_renames(s.fd, (FilesSpec){ .ownership = &groups[i % 2] });
        }
        meddler_stop(&m);
        g_test_message("%u walks were complete", n_complete);
        g_assert_cmpuint(n_complete, >, 0);
}

/* The engine walks once over a tree that nobody changes, also if the root has just changed, as the worker
 * writes the mark there. Times in the future or long ago are no sign of a change. */
TEST(test_at_rest, "/tree-moves/at-rest") {
        const struct timespec future[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } },
                              past[2] = { { .tv_sec = -1000 }, { .tv_sec = -1000 } };
        g_auto(Scene) s = scene_on("tmpfs");

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
        g_assert_cmpuint(n_looks, ==, 4); /* the engine looks at the root by its descriptor */
        assert_all_right(s.fd, 5);
}

static void rename_dir(void) {
        static bool there;

        must(rename(there ? "d/there" : "d/here", there ? "d/here" : "d/there"));
        there = !there;
}

/* A directory has moved whenever the engine opens it. The engine does not take it for removed, but says that
 * it may have missed files. */
TEST(test_never_there, "/tree-moves/never-there") {
        g_auto(Scene) s = scene_on("tmpfs");

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

/* A hard link to a file outside appears after the engine has read the directory. The engine skips it and
 * counts it, too. */
TEST(test_linked_meanwhile, "/tree-moves/linked-meanwhile") {
        g_auto(Scene) s = scene_on("tmpfs");
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

/* A file that another process creates in the root just before the root has its label inherits the old one. */
TEST_WORDS(test_late, "/tree-moves/late", word, "done", "fails") {
        const bool fails = g_str_equal(word, "fails");
        g_auto(Scene) s = scene_on("tmpfs");

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

/* A file moves all the time, so the engine says that it may have missed some. The next walk finds them. */
TEST(test_restless, "/tree-moves/restless") {
        g_auto(Scene) s = scene_on("tmpfs");

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

/* The engine looks at most twice at a tree that changes all the time, and does not say that it is done. */
TEST(test_never_at_rest, "/tree-moves/never-at-rest") {
        enum { FIRST = 50 };
        g_auto(Scene) s = scene_on("tmpfs");
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

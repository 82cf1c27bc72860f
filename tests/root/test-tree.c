/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <glib/gstdio.h>

#include "scene.h"

/* The tree engine walks over real file systems. */

/* These functions replace those of the C library, also for the tested code. */
static int syncfs_error, fsync_error; /* the errno to fail with; 0: the real system call is made */

int syncfs(int fd) {
        errno = syncfs_error;
        return syncfs_error ? -1 : (int) syscall(SYS_syncfs, fd);
}

int fsync(int fd) {
        errno = fsync_error;
        return fsync_error ? -1 : (int) syscall(SYS_fsync, fd);
}

TEST_DISKS(test_kinds, "/tree/kinds", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Scene) s = scene_on(fs_type);
        static const char *const paths[] = { "file", "dir",  "dir/file", "link",  "broken",
                                             "fifo", "char", "block",    "socket" };
        uint64_t ctimes[G_N_ELEMENTS(paths)];

        (void) rmdir("lost+found");
        write_file("file");
        must(mkdir("dir", 0700));
        write_file("dir/file");
        must(symlink("/etc/passwd", "link"));
        must(symlink("nowhere", "broken"));
        must(mkfifo("fifo", 0600));
        must(mknod("char", S_IFCHR | 0600, makedev(1, 3)));
        must(mknod("block", S_IFBLK | 0600, makedev(7, 250)));
        must(mknod("socket", S_IFSOCK | 0600, 0));
        set_label("dir/file", WANTED);
        set_label("dir", OTHER);
        set_label("fifo", "not a label");
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                ctimes[i] = ctime_of(paths[i]);
        let_clock_tick();
        const WalkCounts counts = walk_well(CHANGE(s.fd));
        /* dir/file was right, but on ext4 the engine writes without a look, and counts that as a change. */
        assert_counts(counts, .done = G_N_ELEMENTS(paths) + 1,
                      .changed = G_N_ELEMENTS(paths) + (strcmp(fs_type, "ext4") == 0));
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                const uint64_t before = ctimes[i];

                assert_label(paths[i], WANTED);
                ctimes[i] = ctime_of(paths[i]);
                g_assert_true(strcmp(paths[i], "dir/file") == 0 ? ctimes[i] == before : ctimes[i] > before);
        }
        assert_label(".", WANTED);
        assert_all_right(s.fd, G_N_ELEMENTS(paths) + 1);

        let_clock_tick();
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).changed, ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                g_assert_cmpuint(ctime_of(paths[i]), ==, ctimes[i]);
}

/* On ext4 the engine writes labels without a look if the root's is wrong. The kernel must not touch a file
 * then whose label is right. */
TEST_DISKS(test_ctime_in_a_large_directory, "/tree/ctime", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Scene) s = scene_on(fs_type);
        uint64_t ctimes[3000], right = 0;

        for (unsigned i = 0; i < G_N_ELEMENTS(ctimes); i++) {
                const char *name = numbered("%u", i);

                write_file(name);
                right += i % 100 == 50;
                set_label(name, i % 100 == 50 ? WANTED : OTHER);
                ctimes[i] = ctime_of(name);
        }
        let_clock_tick();
        const WalkCounts counts = walk_well(CHANGE(s.fd));
        g_assert_cmpuint(counts.changed, ==,
                         strcmp(fs_type, "ext4") == 0 ? counts.done : G_N_ELEMENTS(ctimes) - right + 1);
        for (unsigned i = 0; i < G_N_ELEMENTS(ctimes); i++) {
                const uint64_t now = ctime_of(numbered("%u", i));

                g_assert_true(i % 100 == 50 ? now == ctimes[i] : now > ctimes[i]);
        }
        assert_all_right(s.fd, 0);
}

TEST(test_blind, "/tree/blind") {
        g_auto(Scene) s = scene_on("tmpfs");

        write_file("a");
        write_file("b");
        set_label("a", WANTED);
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .blind = true)).changed, ==, 3);
        assert_all_right(s.fd, 3);
}

TEST(test_count, "/tree/count") {
        g_auto(Scene) s = scene_on("tmpfs");
        g_auto(WalkResult) r = { 0 };

        must(mkdir("d", 0755));
        write_file("d/a");
        must(symlink("x", "d/l"));
        g_assert_cmpint(tree_walk(&(TreeSpec){ .fd = s.fd }, &r), ==, 0);
        assert_counts(r.counts, .done = 4);
        assert_label("d/a", "");
}

TEST(test_verify, "/tree/verify") {
        g_auto(Scene) s = scene_on("tmpfs");
        g_autoptr(GString) spelt_long = g_string_new(WANTED);
        uint64_t before;

        for (unsigned i = 0; i < 100; i++)
                g_string_append(spelt_long, ",c2");
        must(mkdir("d", 0755));
        write_file("d/none");
        write_file("d/other");
        write_file("d/spelt");
        write_file("d/spelt-long");
        write_file("d/short");
        set_label("d/other", OTHER);
        set_label("d/spelt", "system_u:object_r:container_file_t:s0:c2,c1");
        set_label("d/spelt-long", spelt_long->str);
        must(lsetxattr("d/short", LABEL, WANTED, strlen(WANTED), 0)); /* without the NUL */
        set_label("d", WANTED);
        set_label(".", WANTED);
        before = ctime_of("d/none");
        let_clock_tick();
        g_auto(WalkResult) r = walk(VERIFY(s.fd, .tree.threads = 1));
        assert_counts(r.counts, .done = 7, .mismatched = 2);
        g_assert_cmpuint(r.n_issues, ==, 2);
        assert_issue(&r, "d/none", 0);
        assert_issue(&r, "d/other", 0);
        for (size_t i = 0; i < r.n_issues; i++)
                g_assert_cmpstr(r.issues[i].text, ==,
                                g_str_has_suffix(r.issues[i].path, "none") ? "has no label"
                                                                           : "has the label '" OTHER "'");
        g_assert_cmpuint(ctime_of("d/none"), ==, before);
        set_label(".", OTHER);
        g_auto(WalkResult) again = walk(VERIFY(s.fd));
        g_assert_cmpuint(again.counts.mismatched, ==, 3);
        assert_issue(&again, ".", 0);
}

static void set_flags(const char *path, int flags) {
        _cleanup_close_ int fd = open_path(path, O_RDONLY);

        must(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

/* The engine counts all errors, names the first, labels the other files, and leaves the root as it is. */
TEST(test_errors, "/tree/errors") {
        g_auto(Scene) s = scene_on("ext4");
        uint64_t fine;

        set_label(".", OTHER);
        must(mkdir("d", 0755));
        for (unsigned i = 0; i < 40; i++) {
                const char *name = numbered("d/%02u", i);

                write_file(name);
                set_flags(name, i % 2 ? FS_IMMUTABLE_FL : FS_APPEND_FL);
        }
        must(mkdir("e", 0755));
        write_file("e/fine");
        g_auto(WalkResult) r = walk(CHANGE(s.fd));
        g_assert_cmpuint(r.counts.failed, ==, 40);
        g_assert_cmpuint(r.n_issues, ==, WALK_ISSUES_MAX);
        for (size_t i = 0; i < r.n_issues; i++) {
                g_assert_true(g_str_has_prefix(r.issues[i].path, "d/"));
                g_assert_cmpint(r.issues[i].error, ==, EPERM);
        }
        g_assert_nonnull(strstr(files_error_text(EPERM, false), "chattr"));
        assert_label("e/fine", WANTED);
        assert_label("e", WANTED);
        assert_label("d", WANTED);
        assert_label(".", OTHER);
        fine = ctime_of("e/fine");
        let_clock_tick();

        for (unsigned i = 0; i < 40; i++)
                set_flags(numbered("d/%02u", i), 0);
        const WalkCounts counts = walk_well(CHANGE(s.fd));
        g_assert_cmpuint(counts.changed, ==, counts.done);
        g_assert_cmpuint(ctime_of("e/fine"), ==, fine); /* its label was right already */
        assert_all_right(s.fd, 0);
}

/* A small inode has no room for a label, and a block of attributes can be full. */
TEST(test_no_space, "/tree/no-space") {
        g_auto(Scene) s = { .fd = -1 };
        g_autofree char *value = g_strnfill(940, 'x');

        if (!image_make(TEST_IMAGES "/small", 4 << 20, "ext4", "-b", "1024", "-I", "128", NULL)) {
                g_test_skip("mkfs.ext4 is missing");
                return;
        }
        s.path = g_strdup(TEST_TARGETS "/small");
        must(mkdir(s.path, 0755));
        g_assert_true(run("mount", "-o", "loop", TEST_IMAGES "/small", s.path, NULL));
        s.fd = open_directory(s.path);
        must(fchdir(s.fd));
        set_label(".", OTHER);
        for (unsigned i = 0; i < 100; i++) {
                const char *name = numbered("%u", i);

                write_file(name);
                if (i % 4 == 0)
                        must(lsetxattr(name, "user.n", value, strlen(value), 0));
        }
        g_auto(WalkResult) r = walk(CHANGE(s.fd));
        g_assert_cmpuint(r.counts.failed, ==, 25);
        g_assert_cmpint(r.issues[0].error, ==, ENOSPC);
        g_assert_nonnull(strstr(files_error_text(ENOSPC, false), "context"));
        assert_label(".", OTHER);
        assert_label("1", WANTED);
        for (unsigned i = 0; i < 100; i += 4)
                must(lremovexattr(numbered("%u", i), "user.n"));
        (void) walk_well(CHANGE(s.fd));
        assert_all_right(s.fd, 0);
}

static void assert_not_supported(const FilesSpec *spec, const char *needle) {
        _cleanup_failure_ Failure f = { 0 };
        WalkResult result = { 0 };

        g_assert_cmpint(files_walk(spec, &result, &f), ==, FAILURE_NOT_SUPPORTED);
        g_assert_nonnull(strstr(f.message, needle));
}

TEST(test_not_supported, "/tree/not-supported") {
        g_auto(Scene) s = scene_on("tmpfs");
        int fd;

        write_file("a");
        must(mount(NULL, s.path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
        assert_not_supported(&CHANGE(s.fd, .context = WANTED), "read-only");
        assert_label("a", "");

        must(mkdir("/run/no-labels", 0755));
        must(mount("ramfs", "/run/no-labels", "ramfs", 0, NULL));
        write_file("/run/no-labels/a");
        fd = open_directory("/run/no-labels");
        for (FilesMode mode = FILES_VERIFY; mode <= FILES_CHANGE; mode++)
                assert_not_supported(&(FilesSpec){ .mode = mode, .tree.fd = fd, .context = WANTED }, "no labels");
        close(fd);
        must(umount2("/run/no-labels", 0));
}

TEST(test_names, "/tree/names") {
        g_auto(Scene) s = scene_on("ext4");
        char name[3] = { 0 };
        unsigned n = 0;

        (void) rmdir("lost+found");
        for (unsigned c = 1; c < 256; c++)
                if (c != '/') {
                        name[0] = (char) c;
                        name[1] = 'x';
                        if (c % 2)
                                must(mkdir(name, 0755));
                        else
                                write_file(name);
                        n++;
                }
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).changed, ==, n + 1);
        assert_all_right(s.fd, n + 1);
}

/* The path of the deepest file is far longer than PATH_MAX, and too deep for a recursion on the stack. */
TEST_DISKS(test_depth, "/tree/depth", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Scene) s = scene_on(fs_type);
        _cleanup_close_ int fd = -EBADF;
        struct rlimit files = { 0 };

        must(getrlimit(RLIMIT_NOFILE, &files));
        files.rlim_cur = files.rlim_max;
        must(setrlimit(RLIMIT_NOFILE, &files));
        g_assert_cmpuint(files.rlim_cur, >, 5100);

        (void) rmdir("lost+found");
        fd = make_chain(".", 5000);
        must(mknodat(fd, "deepest", S_IFREG | 0644, 0));
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).changed, ==, 5002);
        assert_all_right(s.fd, 5002);

        must(fsetxattr(fd, LABEL, OTHER, sizeof(OTHER), 0));
        g_auto(WalkResult) r = walk(VERIFY(s.fd));
        g_assert_cmpuint(r.counts.mismatched, ==, 1);
        g_assert_true(g_str_has_prefix(r.issues[0].path, "…"));
        g_assert_true(g_str_has_suffix(r.issues[0].path, "/directory/directory"));
        g_assert_cmpuint(strlen(r.issues[0].path), <, 2000);
}

/* The engine reads a large directory in many chunks, and shares its names among the threads. */
TEST_DISKS(test_width, "/tree/width", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Scene) s = scene_on(fs_type);
        enum { FILES = 30000, DIRS = 9000 };

        (void) rmdir("lost+found");
        for (unsigned i = 0; i < FILES; i++)
                must(mknod(numbered("file-%u", i), S_IFREG | 0644, 0));
        for (unsigned i = 0; i < DIRS; i++)
                must(mkdir(numbered("dir-%u", i), 0755));
        for (unsigned threads = 1; threads <= 8; threads *= 8) {
                const WalkCounts counts =
                        walk_well(CHANGE(s.fd, .tree.threads = threads, .context = threads == 1 ? OTHER : WANTED));

                assert_counts(counts, .done = FILES + DIRS + 1, .changed = FILES + DIRS + 1);
        }
        assert_all_right(s.fd, FILES + DIRS + 1);
}

TEST(test_mount_inside, "/tree/mount-inside") {
        g_auto(Scene) s = scene_on("tmpfs");

        must(mkdir("d", 0755));
        must(mkdir("d/inside", 0755));
        must(mount("tmpfs", "d/inside", "tmpfs", 0, NULL));
        write_file("d/inside/file");
        g_auto(WalkResult) r = walk(CHANGE(s.fd));
        g_assert_cmpuint(r.counts.failed, ==, 1);
        assert_issue(&r, "d/inside", EXDEV);
        assert_label("d/inside/file", "");
        assert_label("d/inside", "");
        must(umount2("d/inside", 0));
}

/* The volume is a directory of a larger file system, so a name can be a hard link to a file outside. */
TEST(test_hard_links, "/tree/hard-links") {
        g_auto(Scene) s = scene_on("tmpfs");
        int fd;

        must(mkdir("volume", 0755));
        write_file("outside");
        write_file("volume/own");
        must(mkdir("volume/d", 0755));
        must(symlink("../outside", "volume/link"));
        must(link("outside", "volume/d/trap"));
        fd = open_directory("volume");
        const WalkCounts counts = walk_well(CHANGE(fd, .tree.part = true));
        g_assert_cmpuint(counts.skipped, ==, 1);
        g_assert_cmpuint(counts.changed, ==, 4);
        assert_label("outside", "");
        assert_label("volume/own", WANTED);
        assert_label("volume/link", WANTED);
        assert_label("volume/d", WANTED);
        close(fd);

        /* All names of a file are inside if the volume is a whole file system. */
        g_assert_cmpuint(walk_well(CHANGE(s.fd)).skipped, ==, 0);
        assert_label("outside", WANTED);
}

/* The label of the root tells that all files have theirs on disk, so it is written after a sync. */
TEST(test_sync_fails, "/tree/sync-fails") {
        g_auto(Scene) s = scene_on("tmpfs");

        write_file("file");
        syncfs_error = EIO;
        g_auto(WalkResult) r = walk(CHANGE(s.fd));
        g_assert_cmpuint(r.counts.failed, ==, 1);
        assert_issue(&r, ".", EIO);
        assert_label("file", WANTED);
        assert_label(".", "");
        syncfs_error = 0;
        fsync_error = EIO;
        g_auto(WalkResult) again = walk(CHANGE(s.fd));
        g_assert_cmpuint(again.counts.failed, ==, 1);
        assert_issue(&again, ".", EIO);
        fsync_error = 0;
        assert_label(".", WANTED);
        (void) walk_well(CHANGE(s.fd));
        assert_all_right(s.fd, 2);
}

/* On ext4 the engine may write a label without a look. That fails for an immutable file, which is no error if
 * the label is right. */
TEST(test_right_but_immutable, "/tree/right-but-immutable") {
        g_auto(Scene) s = scene_on("ext4");

        for (unsigned i = 0; i < 200; i++) {
                const char *name = numbered("%03u", i);

                write_file(name);
                if (i % 20 == 19) {
                        set_label(name, WANTED);
                        set_flags(name, FS_IMMUTABLE_FL);
                }
        }
        for (unsigned blind = 0; blind < 2; blind++)
                (void) walk_well(CHANGE(s.fd, .blind = blind));
        assert_all_right(s.fd, 0);
        for (unsigned i = 19; i < 200; i += 20)
                set_flags(numbered("%03u", i), 0);
}

static int give_up(const WalkCounts *counts, void *userdata) {
        unsigned *calls = userdata;

        g_assert_cmpuint(counts->done, <, 1000);
        return ++*calls == 2 ? -ECANCELED : 0;
}

TEST(test_progress_and_end, "/tree/progress-and-end") {
        g_auto(Scene) s = scene_on("tmpfs");
        unsigned calls = 0;
        WalkResult result;
        Failure f = { 0 };
        write_files("", 5000);
        g_assert_cmpint(files_walk(&CHANGE(s.fd, .context = WANTED, .tree.entries_per_sec = 500,
                                           .tree.progress = give_up, .tree.userdata = &calls),
                                   &result, &f),
                        ==, -ECANCELED);
        g_assert_cmpuint(calls, ==, 2);
        assert_label(".", "");
}

/* 600 entries at 2000 a second take 300 ms, less one slice of 50 ms. */
TEST(test_rate, "/tree/rate") {
        g_auto(Scene) s = scene_on("tmpfs");
        gint64 start;
        write_files("", 600);
        start = g_get_monotonic_time();
        g_assert_cmpuint(walk_well(CHANGE(s.fd, .tree.entries_per_sec = 2000, .tree.threads = 4)).done, ==, 601);
        g_assert_cmpint(g_get_monotonic_time() - start, >=, 240000);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <glib/gstdio.h>

#include "label/tree.h"
#include "support.h"

/* The tree engine on real file systems. SELinux is off here, so labels are xattrs like any other. */

#define WANTED "system_u:object_r:container_file_t:s0:c1,c2"
#define OTHER  "system_u:object_r:container_file_t:s0:c3,c4"
#define LABEL  "security.selinux"

/* In the place of the C library's, for the code that is tested too. */
static int syncfs_error, fsync_error; /* errno, 0 for the real call */

int syncfs(int fd) {
        errno = syncfs_error;
        return syncfs_error ? -1 : (int) syscall(SYS_syncfs, fd);
}

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

int fsync(int fd) {
        errno = fsync_error;
        return fsync_error ? -1 : (int) syscall(SYS_fsync, fd);
}

/* A file system of the test's own, mounted. */
typedef struct Scene {
        char *path;
        int fd; /* of path, and working directory */
} Scene;

static bool scene_enter(Scene *s, const char *fs_type, const char *options) {
        static unsigned n;
        g_autofree char *name = path_printf("tree-%u", n++), *image = NULL;

        *s = (Scene){ .path = path_printf(TEST_TARGETS "/%s", name), .fd = -1 };
        must(mkdir(s->path, 0755));
        if (strcmp(fs_type, "tmpfs") == 0)
                must(mount("tmpfs", s->path, "tmpfs", 0, options));
        else {
                image = make_image(name, fs_type);
                if (!image)
                        return false;
                g_assert_true(run("mount", "-o", options ? options : "loop", image, s->path, NULL));
        }
        s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(s->fd);
        must(fchdir(s->fd));
        return true;
}

static void scene_leave(Scene *s) {
        must(chdir("/"));
        if (s->fd >= 0)
                close(s->fd);
        if (s->path)
                (void) umount2(s->path, MNT_DETACH);
        g_free(s->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scene, scene_leave)

static void write_file(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        must(fd);
        close(fd);
}

static void set_label(const char *path, const char *label) {
        must(lsetxattr(path, LABEL, label, strlen(label) + 1, 0));
}

/* "" if there is none. */
static char *get_label(const char *path) {
        char buffer[256] = "";
        ssize_t n = lgetxattr(path, LABEL, buffer, sizeof(buffer) - 1);

        g_assert_true(n >= 0 || errno == ENODATA);
        return g_strdup(n < 0 ? "" : buffer);
}

#define assert_label(path, expected)                        \
        G_STMT_START {                                      \
                g_autofree char *_label_ = get_label(path); \
                g_assert_cmpstr(_label_, ==, expected);     \
        }                                                   \
        G_STMT_END

static TreeResult walk(TreeSpec spec) {
        TreeResult result = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (spec.mode != TREE_COUNT && !spec.context)
                spec.context = WANTED;
        r = tree_walk(&spec, &result, &f);
        if (r != 0)
                g_error("tree_walk: %i %s", r, f.message ? f.message : "");
        return result;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TreeResult, tree_result_done)

static void assert_issue(const TreeResult *r, const char *path, int error) {
        for (size_t i = 0; i < r->n_issues; i++)
                if (g_strcmp0(r->issues[i].path, path) == 0) {
                        g_assert_cmpint(r->issues[i].error, ==, error);
                        return;
                }
        g_error("no issue names %s", path);
}

static void assert_all_right(int fd, uint64_t entries) {
        g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_VERIFY, .fd = fd });

        for (size_t i = 0; i < r.n_issues; i++)
                g_test_message("%s: '%s' %i", r.issues[i].path, r.issues[i].label, r.issues[i].error);
        g_assert_cmpuint(r.counts.mismatched, ==, 0);
        g_assert_cmpuint(r.counts.failed, ==, 0);
        if (entries > 0)
                g_assert_cmpuint(r.counts.done, ==, entries);
}

static uint64_t ctime_of(const char *path) {
        struct stat st;

        must(lstat(path, &st));
        return (uint64_t) st.st_ctim.tv_sec * 1000000000 + (uint64_t) st.st_ctim.tv_nsec;
}

/* So that a change of ctime shows: time stamps go by the tick. */
static void let_clock_tick(void) {
        g_usleep(30000);
}

static void test_kinds(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        static const char *const paths[] = { "file", "dir",  "dir/file", "link",  "broken",
                                             "fifo", "char", "block",    "socket" };
        uint64_t ctimes[G_N_ELEMENTS(paths)];

        if (!scene_enter(&s, fs_type, NULL))
                return;
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
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.done, ==, G_N_ELEMENTS(paths) + 1);
                g_assert_cmpuint(r.counts.changed, ==, G_N_ELEMENTS(paths)); /* the root, but not dir/file */
                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpstr(r.root_label, ==, "");
        }
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                assert_label(paths[i], WANTED);
                if (strcmp(paths[i], "dir/file") == 0)
                        g_assert_cmpuint(ctime_of(paths[i]), ==, ctimes[i]);
                else
                        g_assert_cmpuint(ctime_of(paths[i]), >, ctimes[i]);
                ctimes[i] = ctime_of(paths[i]);
        }
        assert_label(".", WANTED);
        assert_all_right(s.fd, G_N_ELEMENTS(paths) + 1);

        let_clock_tick();
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.changed, ==, 0);
                g_assert_cmpstr(r.root_label, ==, WANTED);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                g_assert_cmpuint(ctime_of(paths[i]), ==, ctimes[i]);
}

/* On ext4 labels are written without a look where many were wrong: it must be true that a right one is not touched.
 */
static void test_ctime_in_a_large_directory(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        uint64_t ctimes[3000], right = 0;
        char name[16];

        if (!scene_enter(&s, fs_type, NULL))
                return;
        for (unsigned i = 0; i < G_N_ELEMENTS(ctimes); i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                write_file(name);
                right += i % 100 == 50;
                set_label(name, i % 100 == 50 ? WANTED : OTHER);
                ctimes[i] = ctime_of(name);
        }
        let_clock_tick();
        {
                /* one thread, so that what comes in a row is known */
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .threads = 1 });
                uint64_t wrong = G_N_ELEMENTS(ctimes) - right + 1;

                g_assert_cmpuint(r.counts.failed, ==, 0);
                if (strcmp(fs_type, "ext4") == 0)
                        g_assert_cmpuint(r.counts.changed, >, wrong);
                else
                        g_assert_cmpuint(r.counts.changed, ==, wrong);
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(ctimes); i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                if (i % 100 == 50)
                        g_assert_cmpuint(ctime_of(name), ==, ctimes[i]);
                else
                        g_assert_cmpuint(ctime_of(name), >, ctimes[i]);
        }
        assert_all_right(s.fd, 0);
}

static void test_blind(void) {
        g_auto(Scene) s = { .fd = -1 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        write_file("a");
        write_file("b");
        set_label("a", WANTED);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .blind = true });

                g_assert_cmpuint(r.counts.changed, ==, 3);
        }
        assert_all_right(s.fd, 3);
}

static void test_count(void) {
        g_auto(Scene) s = { .fd = -1 };
        g_auto(TreeResult) r = { 0 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("d", 0755));
        write_file("d/a");
        must(symlink("x", "d/l"));
        r = walk((TreeSpec){ .mode = TREE_COUNT, .fd = s.fd });
        g_assert_cmpuint(r.counts.done, ==, 4);
        g_assert_cmpuint(r.counts.changed, ==, 0);
        g_assert_null(r.root_label);
        assert_label("d/a", "");
}

static void test_verify(void) {
        g_auto(Scene) s = { .fd = -1 };
        uint64_t before;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("d", 0755));
        write_file("d/none");
        write_file("d/other");
        write_file("d/spelt");
        write_file("d/short");
        set_label("d/other", OTHER);
        set_label("d/spelt", "system_u:object_r:container_file_t:s0:c2,c1");
        must(lsetxattr("d/short", LABEL, WANTED, strlen(WANTED), 0)); /* without the NUL */
        set_label("d", WANTED);
        set_label(".", WANTED);
        before = ctime_of("d/none");
        let_clock_tick();
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_VERIFY, .fd = s.fd, .threads = 1 });

                g_assert_cmpuint(r.counts.done, ==, 6);
                g_assert_cmpuint(r.counts.mismatched, ==, 2);
                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.n_issues, ==, 2);
                assert_issue(&r, "d/none", 0);
                assert_issue(&r, "d/other", 0);
                for (size_t i = 0; i < r.n_issues; i++)
                        g_assert_cmpstr(r.issues[i].label, ==,
                                        g_str_has_suffix(r.issues[i].path, "none") ? "" : OTHER);
        }
        g_assert_cmpuint(ctime_of("d/none"), ==, before);
        set_label(".", OTHER);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_VERIFY, .fd = s.fd });

                g_assert_cmpuint(r.counts.mismatched, ==, 3);
                assert_issue(&r, ".", 0);
                g_assert_cmpstr(r.root_label, ==, OTHER);
        }
}

static void set_flags(const char *path, int flags) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        must(fd);
        must(ioctl(fd, FS_IOC_SETFLAGS, &flags));
        close(fd);
}

/* Every error is counted, the first ones named, the rest of the tree is done, and the root keeps its label. */
static void test_errors(void) {
        g_auto(Scene) s = { .fd = -1 };
        char name[32];

        if (!scene_enter(&s, "ext4", NULL))
                return;
        set_label(".", OTHER);
        must(mkdir("d", 0755));
        for (unsigned i = 0; i < 40; i++) {
                (void) snprintf(name, sizeof(name), "d/%02u", i);
                write_file(name);
                set_flags(name, i % 2 ? FS_IMMUTABLE_FL : FS_APPEND_FL);
        }
        must(mkdir("e", 0755));
        write_file("e/fine");
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 40);
                g_assert_cmpuint(r.n_issues, ==, TREE_ISSUES_MAX);
                for (size_t i = 0; i < r.n_issues; i++) {
                        g_assert_true(g_str_has_prefix(r.issues[i].path, "d/"));
                        g_assert_cmpint(r.issues[i].error, ==, EPERM);
                }
                g_assert_nonnull(strstr(tree_error_text(EPERM), "chattr"));
        }
        assert_label("e/fine", WANTED);
        assert_label("e", WANTED);
        assert_label("d", WANTED);
        assert_label(".", OTHER);

        for (unsigned i = 0; i < 40; i++) {
                (void) snprintf(name, sizeof(name), "d/%02u", i);
                set_flags(name, 0);
        }
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.changed, ==, 41); /* and nothing that was right already */
        }
        assert_all_right(s.fd, 0);
}

/* Small inodes have no room for a label, and a block of attributes can be full. */
static void test_no_space(void) {
        g_auto(Scene) s = { .fd = -1 };
        g_autofree char *value = g_strnfill(940, 'x');
        char name[32];

        g_assert_true(run("truncate", "-s", "4M", TEST_IMAGES "/small", NULL));
        if (!run("mkfs.ext4", "-q", "-b", "1024", "-I", "128", TEST_IMAGES "/small", NULL)) {
                g_test_skip("mkfs.ext4 is missing");
                return;
        }
        s.path = g_strdup(TEST_TARGETS "/small");
        must(mkdir(s.path, 0755));
        g_assert_true(run("mount", "-o", "loop", TEST_IMAGES "/small", s.path, NULL));
        s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(s.fd);
        must(fchdir(s.fd));
        set_label(".", OTHER);
        for (unsigned i = 0; i < 100; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                write_file(name);
                if (i % 4 == 0)
                        must(lsetxattr(name, "user.n", value, strlen(value), 0));
        }
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 25);
                g_assert_cmpint(r.issues[0].error, ==, ENOSPC);
                g_assert_nonnull(strstr(tree_error_text(ENOSPC), "context"));
        }
        assert_label(".", OTHER);
        assert_label("1", WANTED);
        for (unsigned i = 0; i < 100; i += 4) {
                (void) snprintf(name, sizeof(name), "%u", i);
                must(lremovexattr(name, "user.n"));
        }
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        assert_all_right(s.fd, 0);
}

static void assert_not_supported(const TreeSpec *spec, const char *needle) {
        _cleanup_failure_ Failure f = { 0 };
        TreeResult result = { 0 };

        g_assert_cmpint(tree_walk(spec, &result, &f), ==, FAILURE_NOT_SUPPORTED);
        g_assert_nonnull(strstr(f.message, needle));
}

static void test_not_supported(void) {
        g_auto(Scene) s = { .fd = -1 };
        int fd;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        write_file("a");
        must(mount(NULL, s.path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
        assert_not_supported(&(TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .context = WANTED }, "read-only");
        assert_label("a", "");

        must(mkdir("/run/no-labels", 0755));
        must(mount("ramfs", "/run/no-labels", "ramfs", 0, NULL));
        write_file("/run/no-labels/a");
        fd = open("/run/no-labels", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        for (TreeMode mode = TREE_VERIFY; mode <= TREE_CHANGE; mode++)
                assert_not_supported(&(TreeSpec){ .mode = mode, .fd = fd, .context = WANTED }, "no labels");
        close(fd);
        must(umount2("/run/no-labels", 0));
}

static void test_names(void) {
        g_auto(Scene) s = { .fd = -1 };
        char name[3] = { 0 };
        unsigned n = 0;

        if (!scene_enter(&s, "ext4", NULL))
                return;
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
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.changed, ==, n + 1);
        }
        assert_all_right(s.fd, n + 1);
}

/* Far beyond PATH_MAX, and beyond what a stack would bear. */
static void test_depth(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        struct rlimit files = { 0 };
        int fd;

        must(getrlimit(RLIMIT_NOFILE, &files));
        files.rlim_cur = files.rlim_max;
        must(setrlimit(RLIMIT_NOFILE, &files));
        g_assert_cmpuint(files.rlim_cur, >, 5100);

        if (!scene_enter(&s, fs_type, NULL))
                return;
        (void) rmdir("lost+found");
        fd = dup(s.fd);
        for (unsigned i = 0; i < 5000; i++) {
                int next;

                must(mkdirat(fd, "directory", 0755));
                next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                must(next);
                close(fd);
                fd = next;
        }
        must(mknodat(fd, "deepest", S_IFREG | 0644, 0));
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.changed, ==, 5002);
        }
        assert_all_right(s.fd, 5002);

        must(fsetxattr(fd, LABEL, OTHER, sizeof(OTHER), 0));
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_VERIFY, .fd = s.fd });

                g_assert_cmpuint(r.counts.mismatched, ==, 1);
                g_assert_true(g_str_has_prefix(r.issues[0].path, "…"));
                g_assert_true(g_str_has_suffix(r.issues[0].path, "/directory/directory"));
                g_assert_cmpuint(strlen(r.issues[0].path), <, 2000);
        }
        close(fd);
}

/* Read in many chunks, and its names shared among the threads. */
static void test_width(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        enum { FILES = 30000, DIRS = 9000 };
        char name[32];

        if (!scene_enter(&s, fs_type, NULL))
                return;
        (void) rmdir("lost+found");
        for (unsigned i = 0; i < FILES; i++) {
                (void) snprintf(name, sizeof(name), "file-%u", i);
                must(mknod(name, S_IFREG | 0644, 0));
        }
        for (unsigned i = 0; i < DIRS; i++) {
                (void) snprintf(name, sizeof(name), "dir-%u", i);
                must(mkdir(name, 0755));
        }
        for (unsigned threads = 1; threads <= 8; threads *= 8) {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE,
                                                        .fd = s.fd,
                                                        .threads = threads,
                                                        .context = threads == 1 ? OTHER : WANTED });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.done, ==, FILES + DIRS + 1);
                g_assert_cmpuint(r.counts.changed, ==, FILES + DIRS + 1);
        }
        assert_all_right(s.fd, FILES + DIRS + 1);
}

static void test_mount_inside(void) {
        g_auto(Scene) s = { .fd = -1 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("d", 0755));
        must(mkdir("d/inside", 0755));
        must(mount("tmpfs", "d/inside", "tmpfs", 0, NULL));
        write_file("d/inside/file");
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 1);
                assert_issue(&r, "d/inside", EXDEV);
        }
        assert_label("d/inside/file", "");
        assert_label("d/inside", "");
        must(umount2("d/inside", 0));
}

/* In a part of a file system a name can be a hard link to a file that is none of the volume's. */
static void test_hard_links(void) {
        g_auto(Scene) s = { .fd = -1 };
        int fd;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("volume", 0755));
        write_file("outside");
        write_file("volume/own");
        must(mkdir("volume/d", 0755));
        must(symlink("../outside", "volume/link"));
        must(link("outside", "volume/d/trap"));
        fd = open("volume", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = fd, .part = true });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.skipped, ==, 1);
                g_assert_cmpuint(r.counts.changed, ==, 4);
        }
        assert_label("outside", "");
        assert_label("volume/own", WANTED);
        assert_label("volume/link", WANTED);
        assert_label("volume/d", WANTED);
        close(fd);

        /* a whole file system has no outside */
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.skipped, ==, 0);
        }
        assert_label("outside", WANTED);
}

typedef struct Meddler {
        void (*meddle)(unsigned i);
        atomic_bool stop;
        unsigned long rounds;
} Meddler;

static void *run_meddler(void *userdata) {
        Meddler *m = userdata;

        for (unsigned i = 0; !atomic_load(&m->stop); i++) {
                m->meddle(i);
                m->rounds++;
        }
        return NULL;
}

/* A directory and a symbolic link that leads outside, exchanged as fast as can be. */
static void exchange(unsigned i) {
        (void) renameat2(AT_FDCWD, "d/dir", AT_FDCWD, "d/link", RENAME_EXCHANGE);
}

static void assert_labels_inside(int fd, unsigned n, const char *label) {
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = g_strdup_printf("/proc/self/fd/%i/%u", fd, i);

                assert_label(path, label);
        }
}

static void test_exchange(void) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = exchange };
        char name[64];
        pthread_t thread;
        int fd, inside;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("outside", 0755));
        write_file("outside/file");
        must(mkdir("outside/dir", 0755));
        must(mkdir("volume", 0755));
        must(mkdir("volume/d", 0755));
        must(mkdir("volume/d/dir", 0755));
        for (unsigned i = 0; i < 50; i++) {
                (void) snprintf(name, sizeof(name), "volume/d/dir/%u", i);
                write_file(name);
        }
        inside = open("volume/d/dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(inside);
        must(symlink("../../outside", "volume/d/link"));
        fd = open("volume", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        must(fchdir(fd));
        g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
        for (unsigned i = 0; i < 300; i++) {
                const char *label = i % 2 ? WANTED : OTHER;
                g_auto(TreeResult) r =
                        walk((TreeSpec){ .mode = TREE_CHANGE, .fd = fd, .context = label, .threads = 2 });

                /* it may be found to change too fast, but in no other way wrong */
                g_assert_true(r.counts.failed == 0 || (r.counts.failed == 1 && r.issues[0].error == EBUSY));
                if (r.counts.failed == 0 && r.counts.unsettled == 0)
                        assert_labels_inside(inside, 50, label);
        }
        atomic_store(&m.stop, true);
        pthread_join(thread, NULL);
        g_assert_cmpuint(m.rounds, >, 1000);
        g_usleep(100000);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.unsettled, ==, 0);
                assert_labels_inside(inside, 50, WANTED);
        }
        assert_label("../outside", "");
        assert_label("../outside/file", "");
        assert_label("../outside/dir", "");
        close(inside);
        close(fd);
        must(fchdir(s.fd));
}

enum { MEDDLE_DIRS = 20, MEDDLE_MOVES = 400 };

/* Files appear, vanish, and move to directories that may have been walked already, or not yet. */
static void move_about(unsigned i) {
        char from[64], to[64];

        if (i >= MEDDLE_MOVES) {
                g_usleep(1000);
                return;
        }
        (void) snprintf(from, sizeof(from), "%02u/%u", i % MEDDLE_DIRS, i);
        (void) snprintf(to, sizeof(to), "%02u/moved-%u", (i * 7 + 3) % MEDDLE_DIRS, i);
        if (i % 3 == 0)
                must(unlink(from));
        else
                must(rename(from, to));
        (void) snprintf(to, sizeof(to), "%02u/new-%u", (i * 11 + 5) % MEDDLE_DIRS, i);
        write_file(to);
        if (i % 10 == 0) {
                (void) snprintf(from, sizeof(from), "%02u/sub-%u", i % MEDDLE_DIRS, i);
                must(mkdir(from, 0755));
                (void) snprintf(to, sizeof(to), "%02u/sub-%u/file", i % MEDDLE_DIRS, i);
                write_file(to);
        }
        g_usleep(1000);
}

static void test_changes_meanwhile(gconstpointer fs_type) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = move_about };
        char name[64];
        pthread_t thread;

        if (!scene_enter(&s, fs_type, NULL))
                return;
        for (unsigned i = 0; i < MEDDLE_DIRS; i++) {
                (void) snprintf(name, sizeof(name), "%02u", i);
                must(mkdir(name, 0755));
        }
        for (unsigned i = 0; i < 2000; i++) {
                (void) snprintf(name, sizeof(name), "%02u/%u", i % MEDDLE_DIRS, i);
                write_file(name);
        }
        g_usleep(100000); /* all of that is long ago */
        g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
        {
                /* slow enough for everything to happen during the first pass */
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .entries_per_sec = 1500 });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        g_assert_cmpuint(m.rounds, >, MEDDLE_MOVES);
        atomic_store(&m.stop, true);
        pthread_join(thread, NULL);
        assert_all_right(s.fd, 0);
}

/* Wrong files move, once each, between directories that are all right otherwise, and the times of these are set back
 * as rsync(1) and tar(1) do. */
static void move_wrong(unsigned i) {
        const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
        char from[64], to[64], d[8];

        if (i >= MEDDLE_DIRS) {
                g_usleep(1000);
                return;
        }
        (void) snprintf(from, sizeof(from), "%02u/wrong-%u", i, i);
        (void) snprintf(to, sizeof(to), "%02u/moved-%u", (i + 7) % MEDDLE_DIRS, i);
        must(rename(from, to));
        (void) snprintf(d, sizeof(d), "%02u", i);
        must(utimensat(AT_FDCWD, d, old, 0));
        (void) snprintf(d, sizeof(d), "%02u", (i + 7) % MEDDLE_DIRS);
        must(utimensat(AT_FDCWD, d, old, 0));
        g_usleep(40000);
}

static void test_moved_meanwhile(void) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = move_wrong };
        char name[64];
        pthread_t thread;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        for (unsigned i = 0; i < MEDDLE_DIRS; i++) {
                (void) snprintf(name, sizeof(name), "%02u", i);
                must(mkdir(name, 0755));
        }
        for (unsigned i = 0; i < 2000; i++) {
                (void) snprintf(name, sizeof(name), "%02u/%u", i % MEDDLE_DIRS, i);
                write_file(name);
        }
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        for (unsigned i = 0; i < MEDDLE_DIRS; i++) {
                (void) snprintf(name, sizeof(name), "%02u/wrong-%u", i, i);
                write_file(name);
        }
        g_usleep(100000);
        g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .entries_per_sec = 1500 });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.changed, ==, MEDDLE_DIRS);
        }
        g_assert_cmpuint(m.rounds, >, MEDDLE_DIRS);
        atomic_store(&m.stop, true);
        pthread_join(thread, NULL);
        assert_all_right(s.fd, 0);
}

static void move_there(unsigned i) {
        g_usleep(500000);
        (void) rename("00/wrong", "19/wrong");
}

static void move_back(unsigned i) {
        g_usleep(500000);
        (void) rename("19/wrong", "00/wrong");
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

/* One of the two directories is walked before the move and the other one after it, so in one direction the first pass
 * finds nothing to write. */
static void test_one_moved_meanwhile(gconstpointer data) {
        g_auto(Scene) s = { .fd = -1 };
        const Moved *moved = data;
        char name[64];

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        for (unsigned i = 0; i < MEDDLE_DIRS; i++) {
                (void) snprintf(name, sizeof(name), "%02u", i);
                must(mkdir(name, 0755));
        }
        for (unsigned i = 0; i < 1000; i++) {
                (void) snprintf(name, sizeof(name), "%02u/%u", i % MEDDLE_DIRS, i);
                write_file(name);
        }
        moved->write("00/wrong");
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        for (unsigned back = 0; back < 2; back++) {
                Meddler m = { .meddle = back ? move_back : move_there };
                pthread_t thread;

                moved->spoil(back ? "19/wrong" : "00/wrong");
                g_usleep(100000);
                g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
                {
                        g_auto(TreeResult) r = walk(
                                (TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .entries_per_sec = 1000, .threads = 1 });

                        g_assert_cmpuint(r.counts.failed, ==, 0);
                        g_assert_cmpuint(r.counts.changed, ==, moved->wrong);
                        g_assert_cmpuint(r.counts.unsettled, ==, 0);
                }
                atomic_store(&m.stop, true);
                pthread_join(thread, NULL);
                assert_all_right(s.fd, 0);
        }
}

/* What is at rest is walked once, also if the root was written to just before, as its record is; times in the future
 * or long ago are no sign of anything. */
static void test_at_rest(void) {
        const struct timespec future[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } },
                              past[2] = { { .tv_sec = -1000 }, { .tv_sec = -1000 } };
        g_auto(Scene) s = { .fd = -1 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("future", 0755));
        must(mkdir("past", 0755));
        write_file("future/file");
        write_file("past/file");
        must(utimensat(AT_FDCWD, "future", future, 0));
        must(utimensat(AT_FDCWD, "past", past, 0));
        g_usleep(100000);
        must(setxattr(".", "trusted.selvol", "x", 1, 0));
        n_looks = 0;
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.changed, ==, 5);
                g_assert_cmpuint(r.counts.unsettled, ==, 0);
        }
        g_assert_cmpuint(n_looks, ==, 4); /* the root is looked at by its descriptor */
        assert_all_right(s.fd, 5);
}

static void rename_dir(void) {
        static bool there;

        must(rename(there ? "d/there" : "d/here", there ? "d/here" : "d/there"));
        there = !there;
}

/* A directory that is never where it was read to be is not given up as removed. */
static void test_never_there(void) {
        g_auto(Scene) s = { .fd = -1 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("d", 0755));
        must(mkdir("d/here", 0755));
        write_file("d/here/file");
        after_getdents = rename_dir;
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .threads = 1 });

                g_assert_cmpuint(r.counts.failed, ==, 1);
                assert_issue(&r, ".", EBUSY);
        }
        after_getdents = NULL;
        assert_label(".", "");
}

static void swap_files(unsigned i) {
        (void) rename(i % 2 ? "00/a" : "00/b", i % 2 ? "00/b" : "00/a");
}

/* Nothing is left to do, but as files move all the time one might have been missed. */
static void test_restless(void) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = swap_files };
        pthread_t thread;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("00", 0755));
        write_file("00/a");
        g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
                g_assert_cmpuint(r.counts.unsettled, >, 0);
        }
        atomic_store(&m.stop, true);
        pthread_join(thread, NULL);
        assert_all_right(s.fd, 3);
}

static void create_files(unsigned i) {
        char name[32];

        (void) snprintf(name, sizeof(name), "00/new-%u", i);
        write_file(name);
        g_usleep(5000);
}

/* A tree that nobody leaves alone is not called done. */
static void test_never_at_rest(void) {
        g_auto(Scene) s = { .fd = -1 };
        Meddler m = { .meddle = create_files };
        pthread_t thread;

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        must(mkdir("00", 0755));
        for (unsigned i = 0; i < 50; i++) {
                g_autofree char *name = g_strdup_printf("00/%u", i);

                write_file(name);
        }
        g_assert_cmpint(pthread_create(&thread, NULL, run_meddler, &m), ==, 0);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .entries_per_sec = 1000 });

                g_assert_cmpuint(r.counts.failed, ==, 1);
                assert_issue(&r, ".", EBUSY);
        }
        assert_label(".", "");
        atomic_store(&m.stop, true);
        pthread_join(thread, NULL);
        g_usleep(100000);
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        assert_all_right(s.fd, 0);
}

/* What is not on disk is not done. The root tells that all is, so it is written only after a sync. */
static void test_sync_fails(void) {
        g_auto(Scene) s = { .fd = -1 };

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        write_file("file");
        syncfs_error = EIO;
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 1);
                assert_issue(&r, ".", EIO);
        }
        assert_label("file", WANTED);
        assert_label(".", "");
        syncfs_error = 0;
        fsync_error = EIO;
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 1);
                assert_issue(&r, ".", EIO);
        }
        fsync_error = 0;
        {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        assert_all_right(s.fd, 2);
}

/* On ext4 it may be written without a look: it can't, but needn't. */
static void test_right_but_immutable(void) {
        g_auto(Scene) s = { .fd = -1 };
        char name[32];

        if (!scene_enter(&s, "ext4", NULL))
                return;
        for (unsigned i = 0; i < 200; i++) {
                (void) snprintf(name, sizeof(name), "%03u", i);
                write_file(name);
                if (i % 20 == 19) {
                        set_label(name, WANTED);
                        set_flags(name, FS_IMMUTABLE_FL);
                }
        }
        for (unsigned blind = 0; blind < 2; blind++) {
                g_auto(TreeResult) r = walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .blind = blind });

                g_assert_cmpuint(r.counts.failed, ==, 0);
        }
        assert_all_right(s.fd, 0);
        for (unsigned i = 19; i < 200; i += 20) {
                (void) snprintf(name, sizeof(name), "%03u", i);
                set_flags(name, 0);
        }
}

static int give_up(const TreeCounts *counts, void *userdata) {
        unsigned *calls = userdata;

        g_assert_cmpuint(counts->done, <, 1000);
        return ++*calls == 2 ? -ECANCELED : 0;
}

static void test_progress_and_end(void) {
        g_auto(Scene) s = { .fd = -1 };
        unsigned calls = 0;
        TreeResult result;
        Failure f = { 0 };
        char name[32];

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        for (unsigned i = 0; i < 5000; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                write_file(name);
        }
        g_assert_cmpint(tree_walk(&(TreeSpec){ .mode = TREE_CHANGE,
                                               .fd = s.fd,
                                               .context = WANTED,
                                               .entries_per_sec = 500,
                                               .progress = give_up,
                                               .userdata = &calls },
                                  &result, &f),
                        ==, -ECANCELED);
        g_assert_cmpuint(calls, ==, 2);
        assert_label(".", "");
}

/* The rate is kept: 600 entries at 2000 a second take 300 ms, less one slice of 50 ms. */
static void test_rate(void) {
        g_auto(Scene) s = { .fd = -1 };
        gint64 start;
        char name[32];

        g_assert_true(scene_enter(&s, "tmpfs", NULL));
        for (unsigned i = 0; i < 600; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                write_file(name);
        }
        start = g_get_monotonic_time();
        {
                g_auto(TreeResult) r =
                        walk((TreeSpec){ .mode = TREE_CHANGE, .fd = s.fd, .entries_per_sec = 2000, .threads = 4 });

                g_assert_cmpuint(r.counts.done, ==, 601);
        }
        g_assert_cmpint(g_get_monotonic_time() - start, >=, 240000);
}

int main(int argc, char **argv) {
        static const char *const fs_types[] = { "tmpfs", "ext4", "xfs", "btrfs" };

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        for (size_t i = 0; i < G_N_ELEMENTS(fs_types); i++) {
                g_autofree char *kinds = g_strdup_printf("/tree/kinds/%s", fs_types[i]),
                                *ctime = g_strdup_printf("/tree/ctime/%s", fs_types[i]),
                                *depth = g_strdup_printf("/tree/depth/%s", fs_types[i]),
                                *width = g_strdup_printf("/tree/width/%s", fs_types[i]),
                                *changes = g_strdup_printf("/tree/changes-meanwhile/%s", fs_types[i]);

                g_test_add_data_func(kinds, fs_types[i], test_kinds);
                g_test_add_data_func(ctime, fs_types[i], test_ctime_in_a_large_directory);
                g_test_add_data_func(depth, fs_types[i], test_depth);
                g_test_add_data_func(width, fs_types[i], test_width);
                g_test_add_data_func(changes, fs_types[i], test_changes_meanwhile);
        }
        g_test_add_func("/tree/blind", test_blind);
        g_test_add_func("/tree/count", test_count);
        g_test_add_func("/tree/verify", test_verify);
        g_test_add_func("/tree/errors", test_errors);
        g_test_add_func("/tree/no-space", test_no_space);
        g_test_add_func("/tree/not-supported", test_not_supported);
        g_test_add_func("/tree/names", test_names);
        g_test_add_func("/tree/mount-inside", test_mount_inside);
        g_test_add_func("/tree/hard-links", test_hard_links);
        g_test_add_func("/tree/exchange", test_exchange);
        g_test_add_func("/tree/moved-meanwhile", test_moved_meanwhile);
        g_test_add_data_func("/tree/one-moved-meanwhile/file", &moved_file, test_one_moved_meanwhile);
        g_test_add_data_func("/tree/one-moved-meanwhile/directory", &moved_dir, test_one_moved_meanwhile);
        g_test_add_func("/tree/at-rest", test_at_rest);
        g_test_add_func("/tree/never-there", test_never_there);
        g_test_add_func("/tree/restless", test_restless);
        g_test_add_func("/tree/never-at-rest", test_never_at_rest);
        g_test_add_func("/tree/sync-fails", test_sync_fails);
        g_test_add_func("/tree/right-but-immutable", test_right_but_immutable);
        g_test_add_func("/tree/progress-and-end", test_progress_and_end);
        g_test_add_func("/tree/rate", test_rate);
        return g_test_run();
}

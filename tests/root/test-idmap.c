/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <sys/wait.h>

#include "mount/idmap.h"
#include "volumes.h"

/* An idmapped mount shows one group in another's place. */

enum { DISK = 7001, SHOWN = 7002, OTHER = 7003, USER = 1234 };
static const gid_t LAST = 4294967294;

static unsigned count_descriptors(void) {
        DIR *d = opendir("/proc/self/fd");
        unsigned n = 0;

        g_assert_nonnull(d);
        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

/* idmap_swap_groups() must leave no process and no descriptor, also when it fails. */
static int swap(int tree, gid_t a, gid_t b) {
        unsigned n = count_descriptors();
        int r = idmap_swap_groups(tree, a, b);

        g_assert_cmpuint(count_descriptors(), ==, n);
        g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1);
        g_assert_cmpint(errno, ==, ECHILD);
        return r;
}

static int clone_mount(const char *path) {
        int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        must(tree);
        return tree;
}

/* Marks the test as skipped and returns false if the kernel can't idmap the file system. */
static bool swapped(int tree, gid_t a, gid_t b) {
        int r = swap(tree, a, b);

        if (r < 0 && idmap_is_unsupported(r)) {
                g_autofree char *why = path_printf("no idmapped mounts of it here: %s", g_strerror(-r));

                g_test_skip(why);
                return false;
        }
        g_assert_cmpint(r, ==, 0);
        return true;
}

static void make_file(const char *directory, const char *name, gid_t gid) {
        g_autofree char *path = path_printf("%s/%s", directory, name);

        must(mknod(path, S_IFREG | 0660, 0));
        must(chown(path, USER, gid));
        must(chmod(path, 0660));
}

static void assert_owner(int fd, const char *name, uid_t uid, gid_t gid) {
        struct stat st;

        must(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
        g_assert_cmpuint(st.st_uid, ==, uid);
        g_assert_cmpuint(st.st_gid, ==, gid);
}

static void assert_owner_on_disk(const TestVolume *v, const char *name, uid_t uid, gid_t gid) {
        g_autofree char *path = path_printf("%s/%s", v->target, name);

        assert_owner(AT_FDCWD, path, uid, gid);
}

TEST_DISKS(test_view, "/idmap/view", "ext4", "xfs", "btrfs", "tmpfs") {
        static const struct {
                const char *name;
                gid_t disk, shown;
        } files[] = {
                { "disk", DISK, SHOWN }, { "shown", SHOWN, DISK }, { "other", OTHER, OTHER },
                { "root", 0, 0 },        { "last", LAST, LAST },   { "nobody", 65534, 65534 },
        };
        g_autoptr(TestVolume) v = volume_mount("view", fs_type, 0);

        g_autofree char *link = path_printf("%s/link", v->target);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
                make_file(v->target, files[i].name, files[i].disk);
        must(symlink("nowhere", link));
        must(lchown(link, 0, DISK));
        must(chown(v->target, USER, DISK));

        _cleanup_close_ int tree = clone_mount(v->target);
        if (!swapped(tree, DISK, SHOWN))
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                assert_owner(tree, files[i].name, USER, files[i].shown);
                assert_owner_on_disk(v, files[i].name, USER, files[i].disk);
        }
        assert_owner(tree, "link", 0, SHOWN);
        assert_owner(tree, "", USER, SHOWN);
        assert_owner_on_disk(v, "", USER, DISK);

        /* A file that gets the shown group through the mount has the other one on disk. */
        must(fchownat(tree, "other", (uid_t) -1, SHOWN, 0));
        assert_owner_on_disk(v, "other", USER, DISK);
        must(fchownat(tree, "root", (uid_t) -1, DISK, 0));
        assert_owner_on_disk(v, "root", USER, SHOWN);
}

/* These functions return 0 or an errno. */
static int try_open(int fd, const char *name, int flags) {
        _cleanup_close_ int file = openat(fd, name, flags | O_CLOEXEC, 0660);

        return file < 0 ? errno : 0;
}

static int try_access(int fd, const char *suffix) {
        g_autofree char *file = path_printf("shared/new-%s", suffix), *dir = path_printf("shared/dir-%s", suffix),
                        *own = path_printf("open/new-%s", suffix);
        int r;

        r = try_open(fd, "shared/file", O_RDWR);
        if (r == 0)
                r = try_open(fd, file, O_RDWR | O_CREAT | O_EXCL);
        if (r == 0)
                r = mkdirat(fd, dir, 0770) < 0 ? errno : 0;
        return r == 0 ? try_open(fd, own, O_RDWR | O_CREAT | O_EXCL) : r;
}

/* A child uses the files as an ordinary user with one supplementary group. */
static int access_as(int fd, gid_t primary, gid_t group, const char *suffix) {
        pid_t pid = fork();
        int status;

        must(pid);
        if (pid == 0) {
                (void) umask(0);
                if (setgroups(1, &group) < 0 || setresgid(primary, primary, primary) < 0 ||
                    setresuid(USER, USER, USER) < 0)
                        _exit(255);
                _exit(try_access(fd, suffix));
        }
        must(waitpid(pid, &status, 0));
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void make_directory(const TestVolume *v, const char *name, gid_t gid, mode_t mode) {
        g_autofree char *path = path_printf("%s/%s", v->target, name);

        must(mkdir(path, 0700));
        must(chown(path, 0, gid));
        must(chmod(path, mode));
}

TEST_DISKS(test_member, "/idmap/member", "ext4", "xfs", "btrfs", "tmpfs") {
        g_autoptr(TestVolume) v = volume_mount("member", fs_type, 0);

        must(chmod(v->target, 0755));
        make_directory(v, "shared", DISK, 02770);
        make_directory(v, "open", 0, 0777);
        make_file(v->target, "shared/file", DISK);
        g_autofree char *file = path_printf("%s/shared/file", v->target);
        must(chown(file, 0, (gid_t) -1));

        _cleanup_close_ int plain = open(v->target, O_PATH | O_DIRECTORY | O_CLOEXEC), tree = clone_mount(v->target);
        if (!swapped(tree, DISK, SHOWN))
                return;
        g_assert_cmpint(access_as(plain, USER, SHOWN, "plain"), ==, EACCES);
        g_assert_cmpint(access_as(tree, USER, DISK, "old"), ==, EACCES);
        g_assert_cmpint(access_as(tree, USER, SHOWN, "member"), ==, 0);
        assert_owner_on_disk(v, "shared/new-member", USER, DISK);
        assert_owner_on_disk(v, "shared/dir-member", USER, DISK);
        assert_owner_on_disk(v, "open/new-member", USER, USER);
        assert_owner(tree, "shared/new-member", USER, SHOWN);

        /* New files in "open" get the group of the process, which the kernel swaps. */
        g_assert_cmpint(access_as(tree, SHOWN, OTHER, "primary"), ==, 0);
        assert_owner_on_disk(v, "open/new-primary", USER, DISK);
        /* Files still have the old group through the plain mount. */
        g_assert_cmpint(access_as(plain, USER, DISK, "as-before"), ==, 0);
}

TEST(test_publish, "/idmap/publish") {
        g_autoptr(TestVolume) v = volume_mount("publish", "ext4", 0);
        g_autofree char *second = make_target("published"), *inside = path_printf("%s/file", second), *table = NULL,
                        *needle = path_printf(" %s rw,", second);

        make_file(v->target, "file", DISK);
        _cleanup_close_ int tree = clone_mount(v->target);
        if (!swapped(tree, DISK, SHOWN))
                return;
        must(move_mount(tree, "", AT_FDCWD, second, MOVE_MOUNT_F_EMPTY_PATH));
        assert_owner(AT_FDCWD, inside, USER, SHOWN);
        g_assert_true(g_file_get_contents("/proc/self/mountinfo", &table, NULL, NULL));
        const char *line = strstr(table, needle);
        g_assert_nonnull(line);
        g_autofree char *rest = g_strndup(line, strcspn(line, "\n"));
        g_assert_nonnull(strstr(rest, "idmapped"));
        tree = fd_close(tree);
        must(umount2(second, 0));
}

TEST(test_again, "/idmap/again") {
        g_autoptr(TestVolume) v = volume_mount("again", "ext4", 0);

        must(chown(v->target, 0, DISK));
        _cleanup_close_ int tree = clone_mount(v->target);
        if (!swapped(tree, DISK, SHOWN))
                return;
        g_assert_cmpint(swap(tree, SHOWN, OTHER), ==, -EPERM);
        assert_owner(tree, "", 0, SHOWN);
}

/* A mount that processes may use already must not change. */
TEST(test_attached, "/idmap/attached") {
        g_autoptr(TestVolume) v = volume_mount("attached", "ext4", 0);

        must(chown(v->target, 0, DISK));
        _cleanup_close_ int fd = open(v->target, O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(swap(fd, DISK, SHOWN), ==, -EINVAL);
        assert_owner(fd, "", 0, DISK);
}

TEST(test_errors, "/idmap/errors") {
        g_autoptr(TestVolume) v = volume_mount("errors", "tmpfs", 0), ramfs = volume_mount("ramfs", "ramfs", 0);
        _cleanup_close_ int tree = clone_mount(v->target), none = clone_mount(ramfs->target), file = -EBADF;

        g_assert_true(idmap_is_unsupported(swap(none, DISK, SHOWN)));
        g_assert_cmpint(swap(-1, DISK, SHOWN), ==, -EBADF);
        g_assert_cmpint(swap(tree, DISK, DISK), ==, -ERANGE);

        file = openat(tree, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        must(file);
        g_assert_cmpint(swap(tree, DISK, SHOWN), ==, -EBUSY);
        file = fd_close(file);
        (void) swapped(tree, DISK, SHOWN);
}

TEST(test_edges, "/idmap/edges") {
        static const gid_t pairs[][2] = {
                { 0, 1 },         { 5, 4294967294 }, { 0, 4294967294 }, { 4294967293, 4294967294 },
                { 65534, 65535 }, { 9, 3 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
                g_autoptr(TestVolume) v = volume_mount("edges", "tmpfs", 0);

                make_file(v->target, "a", pairs[i][0]);
                make_file(v->target, "b", pairs[i][1]);
                make_file(v->target, "c", DISK);
                make_file(v->target, "d", 2);
                _cleanup_close_ int tree = clone_mount(v->target);
                if (!swapped(tree, pairs[i][0], pairs[i][1]))
                        return;
                assert_owner(tree, "a", USER, pairs[i][1]);
                assert_owner(tree, "b", USER, pairs[i][0]);
                assert_owner(tree, "c", USER, DISK);
                assert_owner(tree, "d", USER, 2);
        }
}

static int swap_without_namespaces(void) {
        static const char path[] = "/proc/sys/user/max_user_namespaces";
        _cleanup_close_ int fd = -EBADF;

        if (unshare(CLONE_NEWUSER) < 0)
                return 100;
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
                return 101;
        return -idmap_swap_groups(-1, DISK, SHOWN);
}

/* The limit counts in a user namespace of the child's own, so the host is not affected. */
TEST(test_no_namespaces, "/idmap/no-namespaces") {
        pid_t pid = fork();
        int status;

        must(pid);
        if (pid == 0)
                _exit(swap_without_namespaces());
        must(waitpid(pid, &status, 0));
        g_assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) >= 100)
                g_test_skip("the limit can't be set here");
        else
                g_assert_cmpint(WEXITSTATUS(status), ==, ENOSPC);
}

static bool run_with(const char *capabilities) {
        g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

        return run("setpriv", "--no-new-privs", "--bounding-set", capabilities, program, "--swap", NULL);
}

/* The capabilities that the unit leaves the worker are enough, and each of these is needed. */
TEST(test_capabilities, "/idmap/capabilities") {
        static const char *const needed[] = { "setuid", "setgid", "setfcap" };
        g_autofree char *set = read_capabilities();
        g_autoptr(TestVolume) v = volume_mount("capabilities", "tmpfs", 0);
        _cleanup_close_ int tree = clone_mount(v->target);

        if (!swapped(tree, DISK, SHOWN))
                return;
        g_assert_true(run_with(set));
        for (size_t i = 0; i < G_N_ELEMENTS(needed); i++) {
                g_autofree char *less = path_printf("%s,-%s", set, needed[i]);

                g_test_message("without %s", needed[i]);
                g_assert_false(run_with(less));
        }
}

int main(int argc, char **argv) {
        if (argc == 2 && g_str_equal(argv[1], "--swap")) {
                _cleanup_close_ int tree = clone_mount(TEST_TARGETS "/capabilities");

                return idmap_swap_groups(tree, DISK, SHOWN) == 0 ? 0 : 1;
        }
        return run_tests(argc, argv);
}

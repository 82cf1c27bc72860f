/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "meddler.h"
#include "scene.h"

/* The tree engine gives group and mode (fsGroup) by the rules of kubelet (pkg/volume/volume_linux.go). */

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { UID = 1234, OLD = 1000, GID = 2000 };

static const Ownership rw = { .gid = GID }, ro = { .gid = GID, .readers = true };

/* These functions replace those of the C library, also for the tested code. A test sets the hooks. */
static void (*after_look)(const char *name), (*before_group)(const char *name), (*after_group)(const char *name);
static void (*after_pin)(const char *name), (*before_sync)(void);
static int group_error, sync_error; /* the errno to fail with; 0: the real system call is made */
static atomic_uint n_looks, n_groups, n_pins;

int fstatat(int fd, const char *path, struct stat *st, int flags) {
        int r = (int) syscall(SYS_newfstatat, fd, path, st, flags);

        n_looks++;
        if (r >= 0 && after_look)
                after_look(path);
        return r;
}

int openat(int fd, const char *path, int flags, ...) {
        int opened;

        g_assert_false(flags & O_CREAT);
        opened = (int) syscall(SYS_openat, fd, path, flags);
        n_pins += !!(flags & O_PATH);
        if (after_pin && flags & O_PATH)
                after_pin(path);
        return opened;
}

int fchownat(int fd, const char *path, uid_t uid, gid_t gid, int flags) {
        int r;

        n_groups++;
        if (before_group)
                before_group(path);
        if (group_error) {
                errno = group_error;
                return -1;
        }
        r = (int) syscall(SYS_fchownat, fd, path, uid, gid, flags);
        if (r >= 0 && after_group)
                after_group(path);
        return r;
}

int syncfs(int fd) {
        if (before_sync)
                before_sync();
        errno = sync_error;
        return sync_error ? -1 : (int) syscall(SYS_syncfs, fd);
}

static struct stat stat_of(const char *path) {
        struct stat st;

        must((int) syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW));
        return st;
}

#define assert_owner(path, gid, mode)                                                                              \
        G_STMT_START {                                                                                             \
                struct stat _st_ = stat_of(path);                                                                  \
                if (_st_.st_gid != (gid) || (_st_.st_mode & 07777) != (mode))                                      \
                        g_error("%s:%i: %s has group %u and mode %04o, not %u and %04o", __FILE__, __LINE__, path, \
                                _st_.st_gid, _st_.st_mode & 07777, (unsigned) (gid), (unsigned) (mode));           \
        }                                                                                                          \
        G_STMT_END

/* mode has the type of the file. */
static void make(const char *path, mode_t mode, gid_t gid) {
        if (S_ISLNK(mode))
                must(symlink("../outside", path));
        else if (S_ISDIR(mode))
                must(mkdir(path, 0700));
        else
                must(mknod(path, (mode & S_IFMT) | 0600, S_ISCHR(mode) ? makedev(1, 3) : makedev(7, 250)));
        must(lchown(path, UID, gid));
        if (!S_ISLNK(mode))
                must(chmod(path, mode & 07777));
}

/* The tests walk over a directory of a scene. A file outside of that directory has to stay as it is. */
typedef struct Volume {
        Scene scene;
        int fd; /* of the directory, which is the working directory too */
        uint64_t outside_ctime;
} Volume;

static Volume volume_on(const char *fs_type) {
        Volume v = { .scene = scene_on(fs_type) };

        make("outside", S_IFREG | 0600, OLD);
        v.outside_ctime = ctime_of("outside");
        make("volume", S_IFDIR | 0755, OLD);
        v.fd = open_directory("volume");
        must(fchdir(v.fd));
        return v;
}

static void volume_leave(Volume *v) {
        after_look = before_group = after_group = after_pin = NULL;
        before_sync = NULL;
        group_error = sync_error = 0;
        assert_owner("../outside", OLD, 0600);
        g_assert_cmpuint(ctime_of("../outside"), ==, v->outside_ctime);
        close(v->fd);
        scene_leave(&v->scene);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Volume, volume_leave)

static WalkResult change(int fd, const Ownership *o) {
        return walk(CHANGE(fd, .ownership = o));
}

static WalkCounts change_well(int fd, const Ownership *o) {
        return walk_well(CHANGE(fd, .ownership = o));
}

static void assert_changed(int fd, const Ownership *o, uint64_t changed) {
        g_assert_cmpuint(change_well(fd, o).changed, ==, changed);
}

/* Files of each kind, with their mode, and the modes that they get for writers and for readers. */
static const struct {
        const char *name;
        mode_t type, before, rw, ro;
} kinds[] = {
        { "private", S_IFREG, 0600, 0660, 0640 },
        { "public", S_IFREG, 0644, 0664, 0644 },
        { "program", S_IFREG, 0755, 0775, 0755 },
        { "nobodys", S_IFREG, 0000, 0660, 0440 },
        { "shared", S_IFREG, 0660, 0660, 0660 },
        { "setuid", S_IFREG, 04755, 04775, 04755 },
        { "setuid-shared", S_IFREG, 04770, 04770, 04770 },
        { "setgid", S_IFREG, 02755, 02775, 02755 },
        { "setgid-not-program", S_IFREG, 02640, 02660, 02640 },
        { "both", S_IFREG, 06711, 06771, 06751 },
        { "sticky-file", S_IFREG, 01644, 01664, 01644 },
        { "dir-private", S_IFDIR, 0700, 02770, 02750 },
        { "dir-public", S_IFDIR, 0755, 02775, 02755 },
        { "dir-sticky", S_IFDIR, 01777, 03777, 03777 },
        { "dir-right", S_IFDIR, 02770, 02770, 02770 },
        { "dir-setuid", S_IFDIR, 04755, 06775, 06755 },
        { "fifo", S_IFIFO, 0600, 0660, 0640 },
        { "socket", S_IFSOCK, 0755, 0775, 0755 },
        { "char", S_IFCHR, 0640, 0660, 0640 },
        { "block", S_IFBLK, 0600, 0660, 0640 },
        { "link", S_IFLNK, 0777, 0777, 0777 },
};

static mode_t wanted_mode(size_t kind, const Ownership *o) {
        return o->readers ? kinds[kind].ro : kinds[kind].rw;
}

static void make_kinds(gid_t gid) {
        must(chown(".", UID, gid));
        must(chmod(".", 0755));
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                make(kinds[i].name, kinds[i].type | kinds[i].before, gid);
        must(symlink("nowhere", "broken"));
        must(lchown("broken", UID, gid));
}

static void assert_kinds(const Ownership *o) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                assert_owner(kinds[i].name, o->gid, wanted_mode(i, o));
                g_assert_cmpuint(stat_of(kinds[i].name).st_uid, ==, UID);
        }
        assert_owner("broken", o->gid, 0777);
        assert_owner(".", o->gid, o->readers ? 02755 : 02775);
}

static void remove_kinds(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                must(remove(kinds[i].name));
        must(unlink("broken"));
}

/* All files have another group, or all have the right one. The engine does not write a file that is right. */
TEST_DISKS(test_kinds, "/tree-owner/kinds", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Volume) v = volume_on(fs_type);

        for (unsigned i = 0; i < 4; i++) {
                const Ownership *o = i % 2 ? &ro : &rw;
                gid_t gid = i < 2 ? OLD : GID;
                uint64_t ctimes[G_N_ELEMENTS(kinds)], n_wrong = gid == GID ? 1 : 2; /* the root, "broken" */
                bool wrong[G_N_ELEMENTS(kinds)];

                make_kinds(gid);
                for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
                        wrong[k] = gid != GID || kinds[k].before != wanted_mode(k, o);
                        n_wrong += wrong[k];
                        ctimes[k] = ctime_of(kinds[k].name);
                }
                let_clock_tick();
                n_groups = 0;
                assert_changed(v.fd, o, n_wrong);
                g_assert_cmpuint(n_groups, ==, gid == GID ? 0 : G_N_ELEMENTS(kinds) + 2);
                assert_kinds(o);
                for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
                        const uint64_t before = ctimes[k];

                        ctimes[k] = ctime_of(kinds[k].name);
                        g_assert_true(wrong[k] ? ctimes[k] > before : ctimes[k] == before);
                }

                let_clock_tick();
                assert_changed(v.fd, o, 0);
                for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                        g_assert_cmpuint(ctime_of(kinds[k].name), ==, ctimes[k]);
                remove_kinds();
        }
}

/* A part of a file system is the volume, so the engine pins each file and leaves hard links alone. */
TEST(test_part, "/tree-owner/part") {
        g_auto(Volume) v = volume_on("tmpfs");

        for (unsigned i = 0; i < 2; i++) {
                const Ownership *o = i ? &ro : &rw;

                make_kinds(OLD);
                must(link("../outside", "trap"));
                v.outside_ctime = ctime_of("trap");
                let_clock_tick();
                const WalkCounts counts = walk_well(CHANGE(v.fd, .ownership = o, .tree.part = true));
                g_assert_cmpuint(counts.skipped, ==, 1);
                g_assert_cmpuint(counts.changed, ==, G_N_ELEMENTS(kinds) + 2);
                assert_kinds(o);
                assert_owner("trap", OLD, 0600);
                must(unlink("trap"));
                v.outside_ctime = ctime_of("../outside");
                remove_kinds();
        }
}

static uint64_t ctime_unlinked;

static void unlink_trap(const char *name) {
        if (!streq(name, "trap"))
                return;
        must(unlink("trap"));
        ctime_unlinked = ctime_of("../outside");
        let_clock_tick();
}

/* Another process removes the name in the volume, so the single link of the file is outside. */
TEST(test_unlinked, "/tree-owner/unlinked") {
        g_auto(Volume) v = volume_on("tmpfs");

        make("file", S_IFREG | 0600, OLD);
        must(link("../outside", "trap"));
        g_usleep(100000);
        after_pin = unlink_trap;
        g_assert_cmpuint(walk_well(CHANGE(v.fd, .ownership = &rw, .tree.part = true)).changed, ==, 2);
        g_assert_cmpint(access("trap", F_OK), <, 0);
        assert_owner("file", GID, 0660);
        v.outside_ctime = ctime_unlinked;
}

/* fchmodat2(2) fails in this process from now on, as on an older kernel, or under a filter that lacks it. */
static void refuse_fchmodat2(int error) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { .len = G_N_ELEMENTS(code), .filter = code };

        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
        g_assert_cmpint((int) syscall(SYS_fchmodat2, AT_FDCWD, ".", 0700, 0), ==, -1);
        g_assert_cmpint(errno, ==, error);
}

/* Counts the files whose mode the engine sets by name: a new group takes setuid and setgid away. */
static unsigned count_modes(const Ownership *o, gid_t gid) {
        unsigned n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (kinds[i].type != S_IFDIR)
                        n += kinds[i].before != wanted_mode(i, o) ||
                             (gid != GID && kinds[i].before & (S_ISUID | S_ISGID));
        return n;
}

/* Without fchmodat2(2) the engine pins the files whose mode it sets, and no others. */
TEST_WORDS(test_without_fchmodat2, "/tree-owner/without-fchmodat2", word, "enosys", "eperm") {
        const int error = g_str_equal(word, "eperm") ? EPERM : ENOSYS;
        g_auto(Volume) v = volume_on("tmpfs");

        for (unsigned i = 0; i < 4; i++) {
                const Ownership *o = i % 2 ? &ro : &rw;
                int status;
                pid_t pid;

                make_kinds(i < 2 ? OLD : GID);
                pid = fork();
                must(pid);
                if (pid == 0) {
                        refuse_fchmodat2(error);
                        n_pins = 0;
                        g_auto(WalkResult) r = change(v.fd, o);
                        g_assert_cmpuint(r.counts.failed, ==, 0);
                        g_assert_cmpuint(n_pins, ==, count_modes(o, i < 2 ? OLD : GID));
                        _exit(0);
                }
                must(waitpid(pid, &status, 0));
                g_assert_cmpint(status, ==, 0);
                assert_kinds(o);
                assert_changed(v.fd, o, 0);
                remove_kinds();
        }
}

/* The engine makes one system call for a file that is right. */
TEST(test_cost, "/tree-owner/cost") {
        g_auto(Volume) v = volume_on("tmpfs");

        make("dir", S_IFDIR | 02770, GID);
        for (unsigned i = 0; i < 500; i++)
                make(numbered("%s%u", i % 2 ? "dir/" : "", i), S_IFREG | (i % 3 ? 0660 : 06660), GID);
        let_clock_tick();
        g_usleep(100000);
        n_looks = n_groups = n_pins = 0;
        assert_changed(v.fd, &rw, 1); /* the root */
        g_assert_cmpuint(n_looks, ==, 500);
        g_assert_cmpuint(n_groups, ==, 1);
        g_assert_cmpuint(n_pins, ==, 0);
}

/* The engine sets label, group and mode in one pass, and counts each entry once. */
TEST_DISKS(test_with_labels, "/tree-owner/with-labels", "tmpfs", "ext4", "xfs", "btrfs") {
        g_auto(Volume) v = volume_on(fs_type);
        static const struct {
                const char *name;
                bool label, group, mode;
        } entries[] = {
                { "right", true, true, true },       { "label", false, true, true },
                { "group", true, false, true },      { "mode", true, true, false },
                { "but-label", true, false, false }, { "but-mode", false, false, true },
                { "none", false, false, false },
        };
        uint64_t ctime;

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                g_autofree char *dir = g_strdup_printf("d-%s", entries[i].name);

                make(entries[i].name, S_IFREG | (entries[i].mode ? 0660 : 04600), entries[i].group ? GID : OLD);
                make(dir, S_IFDIR | (entries[i].mode ? 02770 : 0700), entries[i].group ? GID : OLD);
                set_label(entries[i].name, entries[i].label ? WANTED : OTHER);
                set_label(dir, entries[i].label ? WANTED : OTHER);
        }
        set_label(".", OTHER);
        ctime = ctime_of("right");
        g_usleep(100000);
        n_looks = 0;
        const WalkCounts counts = walk_well(CHANGE(v.fd, .context = WANTED, .ownership = &rw));
        /* On ext4 the engine writes the labels without a look, also those of "right" and its directory. */
        assert_counts(counts, .done = 2 * G_N_ELEMENTS(entries) + 1,
                      .changed = counts.done - (strcmp(fs_type, "ext4") == 0 ? 0 : 2));
        g_assert_cmpuint(n_looks, ==, G_N_ELEMENTS(entries)); /* directories: by descriptor */
        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                g_autofree char *dir = g_strdup_printf("d-%s", entries[i].name);

                assert_owner(entries[i].name, GID, entries[i].mode ? 0660u : 04660u);
                assert_owner(dir, GID, 02770);
                assert_label(entries[i].name, WANTED);
                assert_label(dir, WANTED);
        }
        assert_owner(".", GID, 02775);
        assert_label(".", WANTED);
        g_assert_cmpuint(ctime_of("right"), ==, ctime);
        g_assert_cmpuint(walk_well(CHANGE(v.fd, .context = WANTED, .ownership = &rw)).changed, ==, 0);
}

/* The engine counts and names each entry that fails once, and leaves the root as it is. */
static void check_immutable(const char *fs_type, const char *context) {
        g_auto(Volume) v = volume_on(fs_type);
        static const char *const names[] = { "label-and-group", "group", "mode", "right" };

        make(names[0], S_IFREG | 0600, OLD);
        make(names[1], S_IFREG | 0660, OLD);
        make(names[2], S_IFREG | 0600, GID);
        make(names[3], S_IFREG | 0660, GID);
        make("fine", S_IFREG | 0600, OLD);
        set_label(".", OTHER);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                if (i > 0)
                        set_label(names[i], WANTED);
                set_immutable(names[i], true);
        }
        g_auto(WalkResult) r = walk(CHANGE(v.fd, .context = context, .ownership = &rw));
        assert_counts(r.counts, .done = 6, .changed = 1, .failed = 3);
        g_assert_cmpuint(r.n_issues, ==, 3);
        for (size_t i = 0; i < 3; i++)
                assert_issue(&r, names[i], EPERM);
        assert_owner("fine", GID, 0660);
        assert_owner(".", OLD, 0755);
        assert_label(".", OTHER);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                set_immutable(names[i], false);
        g_assert_cmpuint(walk_well(CHANGE(v.fd, .context = context, .ownership = &rw)).changed, ==, 4);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                assert_owner(names[i], GID, 0660);
        assert_owner(".", GID, 02775);
        assert_label(".", context ? WANTED : OTHER);
}

TEST_DISKS(test_immutable, "/tree-owner/immutable", "xfs") {
        check_immutable(fs_type, NULL);
        check_immutable(fs_type, WANTED);
}

/* A server or a quota may refuse the group. The engine reports that, and counts an entry with a new label. */
TEST(test_errors, "/tree-owner/errors") {
        static const struct {
                const char *name;
                mode_t type, mode;
        } entries[] = { { "file", S_IFREG, 0600 },
                        { "link", S_IFLNK, 0777 },
                        { "setuid", S_IFREG, 04755 },
                        { "dir", S_IFDIR, 0700 } };
        static const int errors[] = { EPERM, EDQUOT, EINVAL, EOVERFLOW, EROFS };
        g_auto(Volume) v = volume_on("tmpfs");

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++)
                make(entries[i].name, entries[i].type | entries[i].mode, OLD);
        for (size_t i = 0; i < G_N_ELEMENTS(errors); i++) {
                group_error = errors[i];
                g_auto(WalkResult) r = change(v.fd, &rw);
                assert_counts(r.counts, .done = 5, .failed = 4);
                for (size_t k = 0; k < G_N_ELEMENTS(entries); k++) {
                        assert_issue(&r, entries[k].name, errors[i]);
                        assert_owner(entries[k].name, OLD, entries[k].mode);
                }
                assert_owner(".", OLD, 0755);
        }
        g_auto(WalkResult) again = walk(CHANGE(v.fd, .context = WANTED, .ownership = &rw));
        assert_counts(again.counts, .done = 5, .failed = 4, .changed = 4);
        assert_label("dir", WANTED);
        assert_label(".", "");
        g_assert_nonnull(strstr(files_error_text(EPERM, true), "FSGroupPolicy"));
        g_assert_nonnull(strstr(files_error_text(EDQUOT, true), "group"));
        group_error = ENOENT; /* as if another process had removed them */
        assert_changed(v.fd, &rw, 0);
}

static void check_before_sync(void) {
        assert_owner("file", GID, 0660);
        assert_owner("dir", GID, 02770);
        assert_owner(".", OLD, 0755);
}

/* The group of the root tells that all files have it on disk, so the engine syncs before it writes that. */
TEST(test_root_last, "/tree-owner/root-last") {
        g_auto(Volume) v = volume_on("tmpfs");

        make("file", S_IFREG | 0600, OLD);
        make("dir", S_IFDIR | 0700, OLD);
        before_sync = check_before_sync;
        sync_error = EIO;
        g_auto(WalkResult) r = change(v.fd, &rw);
        assert_counts(r.counts, .done = 3, .failed = 1, .changed = 2);
        assert_issue(&r, ".", EIO);
        assert_owner(".", OLD, 0755);
        sync_error = 0;
        assert_changed(v.fd, &rw, 1);
        assert_owner(".", GID, 02775);
}

static void create_late(const char *name) {
        if (!streq(name, ""))
                return;
        before_group = NULL;
        make("late", S_IFREG | 0600, OLD);
}

/* A file that another process creates just before the root has the group does not inherit the group. */
TEST(test_late, "/tree-owner/late") {
        g_auto(Volume) v = volume_on("tmpfs");

        make("file", S_IFREG | 0600, OLD);
        g_usleep(100000);
        before_group = create_late;
        assert_changed(v.fd, &rw, 3);
        g_assert_null(before_group);
        assert_owner("late", GID, 0660);
        assert_owner(".", GID, 02775);
}

static const char *in_place; /* is exchanged with "victim", once */

static void replace(const char *name) {
        if (!in_place || !streq(name, "victim"))
                return;
        must(renameat2(AT_FDCWD, "victim", AT_FDCWD, in_place, RENAME_EXCHANGE));
        in_place = NULL;
}

static void remove_victim(const char *name) {
        if (streq(name, "victim"))
                (void) unlink("victim");
}

/* Another process exchanges an entry after the engine's look, or after the change of its group. */
TEST(test_replaced, "/tree-owner/replaced") {
        g_auto(Volume) v = volume_on("tmpfs");

        for (unsigned i = 0; i < 8; i++) {
                bool late = i % 2, special = i / 2 % 2, with_link = i / 4;

                make("victim", S_IFREG | (special ? 06711 : 0711), OLD);
                make("other", with_link ? S_IFLNK : S_IFREG | 0600, with_link ? OLD : GID);
                in_place = "other";
                after_look = late ? NULL : replace;
                after_group = late ? replace : NULL;
                (void) walk_well(CHANGE(v.fd, .ownership = &rw, .tree.threads = 1));
                after_look = after_group = NULL;
                /* The engine has pinned a file with setuid by then, and does not set its group by name. */
                if (in_place)
                        g_assert_true(late && special);
                else {
                        assert_owner("other", GID, special ? 06771u : 0771u);
                        g_assert_cmpuint(stat_of("victim").st_gid, ==, GID);
                        g_assert_cmpuint(stat_of("victim").st_mode & 06660, ==, 0660);
                }
                must(unlink("victim"));
                must(unlink("other"));
        }
        for (unsigned late = 0; late < 2; late++) {
                make("victim", S_IFREG | 0600, OLD);
                after_look = late ? NULL : remove_victim;
                after_group = late ? remove_victim : NULL;
                (void) change_well(v.fd, &rw);
        }
}

/* Where others can exchange entries, the engine computes a mode only from that file's own mode. */
TEST(test_contended, "/tree-owner/contended") {
        g_auto(Volume) v = volume_on("tmpfs");

        for (unsigned contended = 0; contended < 2; contended++) {
                make("victim", S_IFREG | 0644, OLD);
                make("other", S_IFREG | 0600, GID);
                in_place = "other";
                after_look = replace;
                (void) walk_well(CHANGE(v.fd, .ownership = &rw, .contended = contended, .tree.threads = 1));
                after_look = NULL;
                assert_owner("victim", GID, contended ? 0660 : 0664);
                must(unlink("victim"));
                must(unlink("other"));
        }
}

static void exchange_all(void *userdata, unsigned i) {
        must(renameat2(AT_FDCWD, "d/file", AT_FDCWD, "d/link", RENAME_EXCHANGE));
        must(renameat2(AT_FDCWD, "d/special", AT_FDCWD, "d/plain", RENAME_EXCHANGE));
}

/* Nothing outside changes (volume_leave() checks that), and no other file gets setuid, whenever entries are
 * exchanged. */
TEST(test_storm, "/tree-owner/storm") {
        g_auto(Volume) v = volume_on("tmpfs");
        Meddler storm = { .meddle = exchange_all };
        _cleanup_close_ int plain = -EBADF;

        make("d", S_IFDIR | 0700, OLD);
        make("d/file", S_IFREG | 0777, OLD);
        must(symlink("../../outside", "d/link"));
        make("d/special", S_IFREG | 06777, OLD);
        make("d/plain", S_IFREG | 0600, OLD);
        plain = open_path("d/plain", O_RDWR);
        meddler_start(&storm);
        for (unsigned i = 0; i < 150 || storm.rounds <= 1000; i++) {
                const Ownership o = { .gid = i % 2 ? OLD : GID, .readers = i % 3 == 0 };
                g_auto(WalkResult) r = walk(CHANGE(v.fd, .ownership = &o, .tree.threads = 2));
                struct stat st;

                g_assert_cmpuint(r.counts.failed, ==, 0);
                must(fstat(plain, &st));
                g_assert_cmpuint(st.st_mode & (S_ISUID | S_ISGID), ==, 0);
        }
        meddler_stop(&storm);
        g_usleep(100000);
        g_assert_cmpuint(change_well(v.fd, &rw).modified, ==, 0);
        g_assert_cmpuint(stat_of("d/file").st_gid, ==, GID);
        g_assert_cmpuint(stat_of("d/link").st_gid, ==, GID);
}

static void assert_difference(const WalkResult *r, const char *path, const char *text) {
        const WalkIssue *i = find_issue(r, path);

        g_assert_cmpint(i->error, ==, 0);
        g_assert_cmpstr(i->text, ==, text);
}

TEST(test_verify, "/tree-owner/verify") {
        static const struct {
                const char *name;
                mode_t mode;
                gid_t gid;
                const char *label, *text;
        } entries[] = {
                { "right", S_IFREG | 0660, GID, WANTED, NULL },
                { "group", S_IFREG | 0660, OLD, WANTED, "has group 1000 and mode 0660" },
                { "mode", S_IFREG | 04644, GID, WANTED, "has group 2000 and mode 4644" },
                { "both", S_IFDIR | 0700, OLD, OTHER, "has the label '" OTHER "' and has group 1000 and mode 0700" },
                { "label", S_IFREG | 0660, GID, NULL, "has no label" },
                { "link", S_IFLNK, OLD, WANTED, "has group 1000 and mode 0777" },
        };
        g_auto(Volume) v = volume_on("tmpfs");
        uint64_t ctime;

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                make(entries[i].name, entries[i].mode, entries[i].gid);
                if (entries[i].label)
                        set_label(entries[i].name, entries[i].label);
        }
        set_label(".", OTHER);
        ctime = ctime_of("group");
        let_clock_tick();
        g_auto(WalkResult) r = walk(VERIFY(v.fd, .context = WANTED, .ownership = &rw));
        assert_counts(r.counts, .done = 7, .mismatched = 3, .misowned = 5);
        g_assert_cmpuint(r.n_issues, ==, 6);
        for (size_t i = 1; i < G_N_ELEMENTS(entries); i++)
                assert_difference(&r, entries[i].name, entries[i].text);
        assert_difference(&r, ".", "has the label '" OTHER "' and has group 1000 and mode 0755");
        g_auto(WalkResult) again = walk(VERIFY(v.fd, .ownership = &ro));
        assert_counts(again.counts, .done = 7, .misowned = 4); /* readers need no more than "mode" has */
        g_assert_cmpuint(again.n_issues, ==, 4);
        assert_difference(&again, ".", "has group 1000 and mode 0755");
        g_assert_cmpuint(ctime_of("group"), ==, ctime);
        assert_owner(".", OLD, 0755);
        assert_changed(v.fd, &rw, 5);
        g_auto(WalkResult) third = walk(VERIFY(v.fd, .ownership = &rw));
        assert_counts(third.counts, .done = 7);
        g_assert_cmpuint(third.n_issues, ==, 0);
}

/* A bounded walk ends early, but compares the root, and names the entries that it has met. */
TEST(test_bounded, "/tree-owner/bounded") {
        enum { FILES = 3000, BOUND = 100 };
        g_auto(Volume) v = volume_on("tmpfs");

        must(chown(".", UID, GID));
        must(chmod(".", 02770));
        for (unsigned i = 0; i < FILES; i++)
                make(numbered("file-%u", i), S_IFREG | 0660, GID);
        for (unsigned i = 0; i < 2; i++) {
                g_auto(WalkResult) r = walk(VERIFY(v.fd, .ownership = &rw, .tree.max_entries = BOUND));

                assert_counts(r.counts, .done = BOUND + 1, .misowned = i);
                g_assert_cmpuint(r.n_issues, ==, i);
                if (i == 1)
                        assert_difference(&r, ".", "has group 1000 and mode 2770");
                must(chown(".", UID, OLD));
        }
        for (unsigned i = 0; i < FILES; i++)
                must(chown(numbered("file-%u", i), UID, OLD));
        g_auto(WalkResult) r = walk(VERIFY(v.fd, .ownership = &rw, .tree.max_entries = BOUND));
        g_assert_cmpuint(r.counts.misowned, ==, BOUND + 1);
        g_assert_cmpuint(r.n_issues, ==, WALK_ISSUES_MAX);
}

/* A walk without a context needs no file system that keeps labels, only a writable one. */
TEST(test_without_labels, "/tree-owner/without-labels") {
        _cleanup_failure_ Failure f = { 0 };
        WalkResult result;
        int fd;

        must(mkdir("/run/no-labels", 0755));
        must(mount("ramfs", "/run/no-labels", "ramfs", 0, NULL));
        fd = open_directory("/run/no-labels");
        must(fchdir(fd));
        make("file", S_IFREG | 0600, OLD);
        assert_changed(fd, &rw, 2);
        assert_owner("file", GID, 0660);
        const WalkCounts counts = walk_well(VERIFY(fd, .ownership = &rw));
        assert_counts(counts, .done = 2);
        must(chown("file", UID, OLD));
        must(mount(NULL, "/run/no-labels", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
        g_assert_cmpint(files_walk(&CHANGE(fd, .ownership = &rw), &result, &f), ==, FAILURE_NOT_SUPPORTED);
        g_assert_nonnull(strstr(f.message, "read-only"));
        g_assert_nonnull(strstr(f.message, "group"));
        assert_owner("file", OLD, 0660);
        must(chdir("/"));
        close(fd);
        must(umount2("/run/no-labels", 0));
}

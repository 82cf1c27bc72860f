/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "mount/mount-state.h"
#include "mount/on-disk.h"
#include "mount/superblock.h"
#include "volumes.h"

TestVolume *volume_mount(const char *name, const char *fs_type, unsigned long flags) {
        g_autofree TestVolume *v = g_new0(TestVolume, 1);
        bool image = !g_str_equal(fs_type, "tmpfs") && !g_str_equal(fs_type, "ramfs");
        g_auto(MountFact) fact = { 0 };

        v->loop = -EBADF;
        if (image) {
                v->image = make_image(name, fs_type);
                if (!v->image)
                        return NULL;
                v->device = attach_loop(v->image, &v->loop);
        }
        v->target = make_target(name);
        must(mount(image ? v->device : name, v->target, fs_type, flags, NULL));
        note_mount(v->target);
        fact = mount_fact_of(v->target);
        v->mount_id = fact.mount_id;
        v->mount_device = g_steal_pointer(&fact.device);
        return g_steal_pointer(&v);
}

void volume_unmount(TestVolume *v) {
        must(umount2(v->target, 0));
        if (v->loop >= 0)
                close(v->loop);
        g_free(v->image);
        g_free(v->target);
        g_free(v->device);
        g_free(v->mount_device);
        g_free(v);
}

unsigned fill_tree(const char *path, unsigned n_dirs, unsigned n_files) {
        g_autofree char *link = path_printf("%s/link", path), *fifo = path_printf("%s/fifo", path);

        must(symlink("/etc/passwd", link));
        must(mkfifo(fifo, 0600));
        for (unsigned d = 0; d < n_dirs; d++) {
                g_autofree char *dir = path_printf("%s/dir-%u", path, d);

                must(mkdir(dir, 0755));
                for (unsigned i = 0; i < n_files; i++) {
                        g_autofree char *file = path_printf("%s/file-%u", dir, i);

                        must(mknod(file, S_IFREG | 0644, 0));
                }
        }
        return count_labeled(path, "");
}

int make_chain(const char *path, unsigned depth) {
        int fd = open_directory(path);

        for (unsigned i = 0; i < depth; i++) {
                int next;

                must(mkdirat(fd, "directory", 0755));
                next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                must(next);
                close(fd);
                fd = next;
        }
        return fd;
}

char *get_label(const char *path) {
        char label[1024];
        ssize_t n;

        n = lgetxattr(path, "security.selinux", label, sizeof(label) - 1);
        if (n < 0 && errno != ENODATA)
                g_error("%s: %s", path, g_strerror(errno));
        return n < 0 ? g_strdup("") : g_strndup(label, (size_t) n);
}

void set_label(const char *path, const char *label) {
        must(lsetxattr(path, "security.selinux", label, strlen(label) + 1, 0));
}

Arguments live(const TestVolume *v, FilesWanted files) {
        return (Arguments){ .target = v->target, .share_id = v->mount_id, .files = files };
}

static const char *wanted;
static unsigned n_wanted;

static int look(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        g_autofree char *label = get_label(path);

        n_wanted += g_str_equal(label, wanted);
        return 0;
}

unsigned count_labeled(const char *path, const char *label) {
        wanted = label;
        n_wanted = 0;
        must(nftw(path, look, 64, FTW_PHYS | FTW_MOUNT));
        return n_wanted;
}

char *get_mark(const char *path) {
        char text[4096];
        ssize_t n;

        n = getxattr(path, MARK_XATTR, text, sizeof(text) - 1);
        if (n < 0) {
                g_assert_true(errno == ENODATA || errno == EOPNOTSUPP);
                return NULL;
        }
        return g_strndup(text, (size_t) n);
}

void set_mark_bytes(const char *path, const void *bytes, size_t n) {
        must(setxattr(path, MARK_XATTR, bytes, n, 0));
}

MarkHistory mark_history_of(const char *image, const char *fs_type) {
        _cleanup_close_ int fd = open_path(image, O_RDONLY);

        return (MarkHistory){ .kept = fingerprint_read(fd, fs_type) };
}

void set_mark(const char *path, const char *text) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int fd = open_directory(path);
        g_autofree char *whole = NULL;
        Fingerprint f = { 0 };
        Identity i = { 0 };
        struct stat st;

        must(fstat(fd, &st));
        if (read_back_mount(fd, path, &o) == 0) {
                f = superblock_read_fingerprint(fd, &o.fact);
                i = superblock_identify(fd, &o.fact);
        }
        if (!identity_is_known(&i))
                i = superblock_identify_for_mark(fd);
        /* Only the fingerprints of some types of file systems are kept in the mark. */
        whole = path_printf("version=2 identity=%s inode=%llu fingerprint=%s %s", i.text,
                            (unsigned long long) st.st_ino, fingerprint_is_kept_in_mark(&f) ? f.text : "", text);
        set_mark_bytes(path, whole, strlen(whole));
}

void assert_mark_at(const char *file, int line, const char *path, const char *expected) {
        g_autofree char *text = get_mark(path);
        const char *claims = text ? strstr(text, " label=") : NULL;

        if (g_strcmp0(claims ? claims + 1 : text, expected) != 0)
                g_error("%s:%i: the mark is '%s', not '%s'", file, line, text, expected);
}

void assert_told_at(const char *file, int line, const Mark *mark, const char *path) {
        g_autofree char *text = get_mark(path);
        Mark there = { 0 };

        if (text)
                g_assert_cmpint(mark_parse(text, strlen(text), &there), ==, 0);
        if ((there.found == MARK_PRESENT) != (mark->found == MARK_PRESENT) || (text && !mark_equal(mark, &there)))
                g_error("%s:%i: told something else than the mark, '%s'", file, line, text);
        mark_done(&there);
}

void set_immutable(const char *path, bool immutable) {
        _cleanup_close_ int fd = open_path(path, O_RDONLY | O_NONBLOCK);
        int flags;

        must(ioctl(fd, FS_IOC_GETFLAGS, &flags));
        flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
        must(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

char *read_capabilities(void) {
        g_autofree char *unit = g_test_build_filename(G_TEST_DIST, "units", "selvol-worker.service.in", NULL),
                        *text = NULL, *line = NULL;
        static const char key[] = "\nCapabilityBoundingSet=";
        g_auto(GStrv) names = NULL;
        GString *set = g_string_new("-all");
        const char *start;

        g_assert_true(g_file_get_contents(unit, &text, NULL, NULL));
        start = strstr(text, key);
        g_assert_nonnull(start);
        start += strlen(key);
        line = g_ascii_strdown(start, (gssize) strcspn(start, "\n"));
        names = g_strsplit(line, " ", -1);
        for (char **name = names; *name; name++)
                g_string_append_printf(set, ",+%s", *name + strlen("cap_"));
        return g_string_free(set, FALSE);
}

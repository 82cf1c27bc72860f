/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of labels on real file systems. SELinux is off, so that labels are plain attributes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "label/draw.h"
#include "label/tree.h"
#include "volumes.h"

#define RIGHT "system_u:object_r:container_file_t:s0:c1,c2"
#define WRONG "system_u:object_r:container_file_t:s0:c3"

enum { LINKS_PER_FILE = 50000, SEED = 20 };

/* In the place of the C library's, for the code that is tested too. */
static unsigned getdents_calls;

ssize_t getdents64(int fd, void *buffer, size_t size) {
        getdents_calls++;
        return syscall(SYS_getdents64, fd, buffer, size);
}

static char *make_root(const char *fs, const char *name) {
        char *path = path_printf(TEST_TARGETS "/%s/%s", fs, name);

        must(mkdir(path, 0755));
        return path;
}

G_GNUC_PRINTF(2, 3) static void make_file(const char *label, const char *format, ...) {
        g_autofree char *path = NULL;
        va_list ap;

        va_start(ap, format);
        path = g_strdup_vprintf(format, ap);
        va_end(ap);
        must(mknod(path, S_IFREG | 0600, 0));
        set_label(path, label);
}

G_GNUC_PRINTF(2, 3) static char *make_dir(const char *label, const char *format, ...) {
        char *path;
        va_list ap;

        va_start(ap, format);
        path = g_strdup_vprintf(format, ap);
        va_end(ap);
        must(mkdir(path, 0755));
        set_label(path, label);
        return path;
}

/* Entries f0 to f<n - 1>, links to few files. */
static void make_entries(const char *directory, unsigned n) {
        g_autofree char *first = NULL;

        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = path_printf("%s/f%u", directory, i);

                if (i % LINKS_PER_FILE == 0) {
                        make_file(RIGHT, "%s", path);
                        g_free(first);
                        first = g_steal_pointer(&path);
                } else
                        must(link(first, path));
        }
}

static SampleResult take_sample(const char *root, double confidence, double share) {
        _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_failure_ Failure f = { 0 };
        SampleSpec spec = { .fd = fd, .context = RIGHT, .confidence = confidence, .share = share, .seed = SEED };
        SampleResult result = { 0 };

        must(fd);
        g_assert_cmpint(sample_tree(&spec, &result, &f), ==, 0);
        g_assert_cmpfloat(result.miss_probability, >, 0);
        g_assert_cmpfloat(result.miss_probability, <=, 1 - confidence);
        return result;
}

static void assert_all_right(const char *root) {
        _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .01);

        if (result.tree.n_issues > 0)
                g_error("%s: %s, %s", result.tree.issues[0].path, strempty(result.tree.issues[0].label),
                        g_strerror(result.tree.issues[0].error));
        g_assert_cmpuint(result.tree.counts.done, ==, 459);
        g_assert_cmpuint(result.tree.counts.mismatched, ==, 0);
        g_assert_cmpuint(result.tree.counts.failed, ==, 0);
        g_assert_cmpstr(result.tree.root_label, ==, RIGHT);
}

static const TreeIssue *find_issue(const SampleResult *result, const char *path) {
        const TreeIssue *found = NULL;

        for (size_t i = 0; i < result->tree.n_issues; i++)
                if (g_str_equal(result->tree.issues[i].path, path)) {
                        g_assert_null(found);
                        found = result->tree.issues + i;
                }
        return found;
}

/* Twenty directories of fifty files, of which each tenth has another label. */
static void test_share(const void *fs) {
        g_autofree char *root = make_root(fs, "share");

        set_label(root, RIGHT);
        for (unsigned i = 0; i < 20; i++) {
                g_autofree char *directory = make_dir(RIGHT, "%s/d%u", root, i);

                for (unsigned j = 0; j < 50; j++)
                        make_file(RIGHT, "%s/f%u", directory, j);
        }
        assert_all_right(root);

        for (unsigned i = 0; i < 1000; i += 10) {
                g_autofree char *path = path_printf("%s/d%u/f%u", root, i / 50, i % 50);

                set_label(path, WRONG);
        }
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .01);

                g_assert_cmpuint(result.tree.counts.done, ==, 459);
                g_assert_cmpuint(result.tree.counts.failed, ==, 0);
                /* One tenth, give or take five standard deviations. */
                g_assert_cmpuint(result.tree.counts.mismatched, >, 46 - 32);
                g_assert_cmpuint(result.tree.counts.mismatched, <, 46 + 32);
                g_assert_cmpuint(result.tree.n_issues, >, 10);
                for (size_t k = 0; k < result.tree.n_issues; k++) {
                        const TreeIssue *issue = result.tree.issues + k;

                        g_assert_true(g_str_has_suffix(issue->path, "0"));
                        g_assert_cmpstr(issue->label, ==, WRONG);
                        g_assert_cmpint(issue->error, ==, 0);
                        g_assert_true(find_issue(&result, issue->path) == issue);
                }
        }
}

/* What a draw passes counts too. */
static void test_directories(const void *fs) {
        g_autofree char *root = make_root(fs, "directories"), *wrong = NULL;

        set_label(root, RIGHT);
        wrong = make_dir(WRONG, "%s/wrong", root);
        make_file(RIGHT, "%s/file", wrong);
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .5);

                g_assert_cmpuint(result.tree.n_issues, ==, 1);
                g_assert_nonnull(find_issue(&result, "wrong"));
                g_assert_cmpuint(result.tree.counts.mismatched, ==, result.tree.counts.done);
        }

        set_label(wrong, RIGHT);
        set_label(root, WRONG);
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .5);

                g_assert_cmpuint(result.tree.n_issues, ==, 1);
                g_assert_nonnull(find_issue(&result, "."));
                g_assert_cmpuint(result.tree.counts.mismatched, ==, result.tree.counts.done);
                g_assert_cmpstr(result.tree.root_label, ==, WRONG);
        }
}

static void test_empty(const void *fs) {
        g_autofree char *root = make_root(fs, "empty"), *directory = NULL;

        set_label(root, RIGHT);
        assert_all_right(root);
        directory = make_dir(RIGHT, "%s/directory", root);
        g_assert_nonnull(directory);
        assert_all_right(root);
}

/* Entries of all types, no directory; symbolic links lead to what is wrong, and have labels of their own. */
static void test_types(const void *fs) {
        g_autofree char *root = make_root(fs, "types"), *outside = make_dir(WRONG, "%s-outside", root);
        const struct {
                const char *name;
                mode_t mode;
        } types[] = { { "file", S_IFREG },  { "fifo", S_IFIFO }, { "socket", S_IFSOCK },
                      { "block", S_IFBLK }, { "char", S_IFCHR }, { "link", S_IFLNK } };

        set_label(root, RIGHT);
        make_file(WRONG, "%s/wrong", outside);
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_autofree char *path = path_printf("%s/%s", root, types[i].name);

                if (types[i].mode == S_IFLNK)
                        must(symlink(outside, path));
                else
                        must(mknod(path, types[i].mode | 0600, 0));
                set_label(path, RIGHT);
        }
        assert_all_right(root);

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_autofree char *path = path_printf("%s/%s", root, types[i].name);

                set_label(path, WRONG);
        }
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .01);

                g_assert_cmpuint(result.tree.n_issues, ==, G_N_ELEMENTS(types));
                for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                        g_assert_nonnull(find_issue(&result, types[i].name));
                g_assert_cmpuint(result.tree.counts.failed, ==, 0);
        }
}

static void test_spellings(const void *fs) {
        static const char other[] = "system_u:object_r:container_file_t:s0:c2,c1";
        g_autofree char *root = make_root(fs, "spellings"), *directory = NULL, *file = NULL;

        directory = make_dir(other, "%s/directory", root);
        file = path_printf("%s/file", directory);
        make_file(other, "%s", file);
        must(lsetxattr(root, "security.selinux", RIGHT, strlen(RIGHT), 0));
        assert_all_right(root);

        must(lremovexattr(file, "security.selinux"));
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .5);
                const TreeIssue *issue = find_issue(&result, "directory/file");

                g_assert_nonnull(issue);
                g_assert_cmpstr(issue->label, ==, "");
        }
}

/* No recursion, no more than two directories open, a path of more bytes than are kept. */
static void test_deep(const void *fs) {
        g_autofree char *root = make_root(fs, "deep");
        struct rlimit old, low;
        int fd;

        set_label(root, RIGHT);
        fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        for (unsigned i = 0; i < 5000; i++) {
                g_autofree char *name = path_printf("d%u", i);
                int child;

                must(mkdirat(fd, name, 0755));
                child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                must(child);
                must(fsetxattr(child, "security.selinux", RIGHT, sizeof(RIGHT), 0));
                close(fd);
                fd = child;
        }
        must(mknodat(fd, "bottom", S_IFREG | 0600, 0));

        must(getrlimit(RLIMIT_NOFILE, &old));
        low = (struct rlimit){ (rlim_t) fd + 6, old.rlim_max };
        must(setrlimit(RLIMIT_NOFILE, &low));
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .9, .5);

                g_assert_cmpuint(result.tree.counts.done, ==, 4);
                g_assert_cmpuint(result.tree.counts.mismatched, ==, 4);
                g_assert_cmpuint(result.tree.n_issues, ==, 1);
                g_assert_true(g_str_has_prefix(result.tree.issues[0].path, "d0/d1/d2/"));
                g_assert_true(g_str_has_suffix(result.tree.issues[0].path, "/d4998/d4999/bottom"));
                g_assert_nonnull(strstr(result.tree.issues[0].path, "/…/"));
                g_assert_cmpuint(strlen(result.tree.issues[0].path), <, 4096);
        }
        must(setrlimit(RLIMIT_NOFILE, &old));
        close(fd);
}

static void test_mount_inside(const void *fs) {
        g_autofree char *root = make_root(fs, "mount-inside"), *inside = NULL;

        set_label(root, RIGHT);
        inside = make_dir(RIGHT, "%s/inside", root);
        must(mount("tmpfs", inside, "tmpfs", 0, NULL));
        make_file(WRONG, "%s/wrong", inside);
        {
                _cleanup_(sample_result_done) SampleResult result = take_sample(root, .99, .5);

                g_assert_cmpuint(result.tree.n_issues, ==, 1);
                g_assert_cmpstr(result.tree.issues[0].path, ==, "inside");
                g_assert_cmpint(result.tree.issues[0].error, ==, EXDEV);
                g_assert_cmpuint(result.tree.counts.failed, ==, result.tree.counts.done);
                g_assert_cmpuint(result.tree.counts.mismatched, ==, 0);
        }
        must(umount(inside));
}

typedef struct Storm {
        const char *root;
        bool stop;
} Storm;

static void *rename_and_unlink(void *userdata) {
        Storm *storm = userdata;
        g_autofree char *file = path_printf("%s/file0", storm->root), *other = path_printf("%s/other", storm->root),
                        *d0 = path_printf("%s/d0", storm->root), *d1 = path_printf("%s/d1", storm->root);

        while (!g_atomic_int_get((gint *) &storm->stop)) {
                must(link(file, other));
                must(rename(d0, d1));
                must(unlink(other));
                must(rename(d1, d0));
        }
        return NULL;
}

/* What vanishes is no error, whatever is left is drawn. */
static void test_vanishing(const void *fs) {
        g_autofree char *root = make_root(fs, "vanishing"), *d0 = NULL;
        Storm storm = { .root = root };
        GThread *thread;

        set_label(root, RIGHT);
        d0 = make_dir(RIGHT, "%s/d0", root);
        make_file(RIGHT, "%s/file", d0);
        for (unsigned i = 0; i < 4; i++)
                make_file(RIGHT, "%s/file%u", root, i);

        thread = g_thread_new("storm", rename_and_unlink, &storm);
        for (unsigned i = 0; i < 10; i++)
                assert_all_right(root);
        g_atomic_int_set((gint *) &storm.stop, true);
        g_thread_join(thread);
}

/* How often each of the entries of make_entries() is drawn. */
static unsigned *count_entries(const char *root, unsigned n, unsigned draws) {
        unsigned *counts = g_new0(unsigned, n);
        Draw *draw;

        g_assert_cmpint(draw_new(SEED, &draw), ==, 0);
        for (unsigned i = 0; i < draws; i++) {
                _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                DrawnEntry entry;
                guint64 k;

                must(fd);
                g_assert_cmpint(draw_entry(draw, fd, &entry), ==, 1);
                g_assert_true(entry.type == DT_REG || entry.type == DT_UNKNOWN);
                g_assert_true(entry.name[0] == 'f');
                g_assert_true(g_ascii_string_to_unsigned(entry.name + 1, 10, 0, n - 1, &k, NULL));
                counts[k]++;
        }
        draw_free(draw);
        return counts;
}

/* Chi squared of the draws in groups of entries that were made one after another, or that have the same remainder,
 * against the number of entries; it is about the number of groups if they are alike. */
static double chi_squared(const unsigned *counts, const bool *exists, unsigned n, unsigned groups, bool remainder) {
        g_autofree unsigned *members = g_new0(unsigned, groups), *drawn = g_new0(unsigned, groups);
        unsigned n_members = 0, n_drawn = 0;
        double sum = 0;

        for (unsigned i = 0; i < n; i++) {
                unsigned group = remainder ? i % groups : i / (n / groups);

                members[group] += exists ? exists[i] : 1;
                drawn[group] += counts[i];
                n_members += exists ? exists[i] : 1;
                n_drawn += counts[i];
        }
        for (unsigned i = 0; i < groups; i++)
                if (members[i] > 0) {
                        double expected = (double) n_drawn * members[i] / n_members;

                        sum += (drawn[i] - expected) * (drawn[i] - expected) / expected;
                }
        return sum;
}

static void test_uniform_small(const void *fs) {
        g_autofree char *root = make_root(fs, "uniform-small");
        g_autofree unsigned *counts = NULL;

        make_entries(root, 3);
        counts = count_entries(root, 3, 3000);
        g_assert_cmpfloat(chi_squared(counts, NULL, 3, 3, false), <, 20);
}

/* 99 degrees of freedom: mean 99, standard deviation 14. The hashes of ext4 are others in each run. */
static void assert_uniform(const char *root, const bool *exists, unsigned n) {
        g_autofree unsigned *counts = count_entries(root, n, exists ? 5000 : 20000);

        for (unsigned i = 0; exists && i < n; i++)
                g_assert_true(exists[i] || counts[i] == 0);
        for (unsigned remainder = 0; remainder < 2; remainder++) {
                double x = chi_squared(counts, exists, n, 100, remainder);

                g_test_message("chi squared %g", x);
                g_assert_cmpfloat(x, <, 220);
        }
}

/* Without an index a directory takes a time that grows with its square. */
static unsigned count_large(const char *fs, unsigned n) {
        return g_str_equal(fs, "ext4-linear") ? 10000 : n;
}

static void test_uniform_large(const void *fs) {
        g_autofree char *root = make_root(fs, "uniform-large");
        const unsigned n = count_large(fs, 20000);
        g_autofree bool *exists = g_new(bool, n);

        make_entries(root, n);
        assert_uniform(root, NULL, n);

        /* A hole, and behind it one of two, and some far apart. */
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = path_printf("%s/f%u", root, i);

                exists[i] = i < 1500 || (i > 6000 && i < 8000 && i % 2 == 0) || (i > 8000 && i % 50 == 0);
                if (!exists[i])
                        must(unlink(path));
        }
        assert_uniform(root, exists, n);
}

/* Far fewer calls than it would take to read the directory for each draw, which is 200; where positions are not known
 * to ascend it is read once. */
static void test_bounded(const void *fs) {
        g_autofree char *root = make_root(fs, "bounded");

        set_label(root, RIGHT);
        make_entries(root, count_large(fs, 4 * LINKS_PER_FILE));
        getdents_calls = 0;
        assert_all_right(root);
        g_test_message("%u calls", getdents_calls);
        g_assert_cmpuint(getdents_calls, >, 459);
        g_assert_cmpuint(getdents_calls, <, 459 * 6 + 300);
}

static void assert_failure(SampleSpec spec, FailureKind kind) {
        _cleanup_failure_ Failure f = { 0 };
        SampleResult result;

        g_assert_cmpint(sample_tree(&spec, &result, &f), ==, kind);
        g_assert_nonnull(f.message);
}

static void test_refused(void) {
        _cleanup_close_ int fd = -EBADF;
        g_autofree char *ramfs = make_target("ramfs");
        const SampleSpec spec = { .context = RIGHT, .confidence = .99, .share = .01 };
        const double wrong[] = { 0, 1, -1, 2, (double) NAN, (double) INFINITY };

        must(mount("ramfs", ramfs, "ramfs", 0, NULL));
        fd = open(ramfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                assert_failure((SampleSpec){ .fd = fd, .context = RIGHT, .confidence = wrong[i], .share = .01 },
                               FAILURE_INVALID_OPTION);
                assert_failure((SampleSpec){ .fd = fd, .context = RIGHT, .confidence = .99, .share = wrong[i] },
                               FAILURE_INVALID_OPTION);
        }
        assert_failure((SampleSpec){ .fd = fd, .context = RIGHT, .confidence = .99, .share = 1e-6 },
                       FAILURE_INVALID_OPTION);
        assert_failure((SampleSpec){ .fd = fd, .context = RIGHT, .confidence = .99, .share = 1e-300 },
                       FAILURE_INVALID_OPTION);
        assert_failure(
                (SampleSpec){ .fd = fd, .context = spec.context, .confidence = spec.confidence, .share = spec.share },
                FAILURE_NOT_SUPPORTED);
        must(umount2(ramfs, MNT_DETACH));
}

static int count_telling(const TreeCounts *counts, void *userdata) {
        unsigned *n = userdata;

        g_assert_cmpuint(counts->done, >, 0);
        return ++*n < 2 ? 0 : -ECANCELED;
}

/* A sample that takes long says that it gets on, and ends when it is told to. */
static void test_progress(void) {
        g_autofree char *root = make_root("tmpfs", "progress");
        _cleanup_close_ int fd = -EBADF;
        _cleanup_failure_ Failure f = { 0 };
        SampleResult result;
        unsigned n = 0;

        set_label(root, RIGHT);
        make_entries(root, 10);
        fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        const SampleSpec spec = {
                .fd = fd,
                .context = RIGHT,
                .confidence = .99999,
                .share = 1.2e-5,
                .progress = count_telling,
                .userdata = &n,
        };
        g_assert_cmpint(sample_tree(&spec, &result, &f), ==, -ECANCELED);
        g_assert_cmpuint(n, ==, 2);
}

static void test_seed(void) {
        g_autofree char *root = make_root("tmpfs", "seed");
        _cleanup_close_ int fd = -EBADF;
        char names[4][16];

        make_entries(root, 500);
        fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                DrawnEntry entry;
                Draw *draw;

                must(lseek(fd, 0, SEEK_SET));
                g_assert_cmpint(draw_new(i < 2 ? SEED : 0, &draw), ==, 0);
                for (unsigned k = 0; k < 4; k++)
                        (void) draw_number(draw, 1000);
                g_assert_cmpint(draw_entry(draw, fd, &entry), ==, 1);
                g_strlcpy(names[i], entry.name, sizeof(names[i]));
                draw_free(draw);
        }
        g_assert_cmpstr(names[0], ==, names[1]);
        g_assert_false(g_str_equal(names[0], names[2]) && g_str_equal(names[0], names[3]));
}

/* Returns whether there is such a file system here. */
static bool mount_fs(const char *fs) {
        static const char *const linear[] = { "mkfs.ext4", "-q", "-F", "-O", "^dir_index", NULL };
        g_autofree char *target = make_target(fs), *image = NULL, *loop = NULL;
        bool is_linear = g_str_equal(fs, "ext4-linear");
        int fd;

        if (g_str_equal(fs, "tmpfs")) {
                must(mount("tmpfs", target, "tmpfs", 0, NULL));
                return true;
        }
        image = make_image(fs, is_linear ? NULL : fs);
        if (!image)
                return false;
        if (is_linear)
                g_assert_true(run(linear[0], linear[1], linear[2], linear[3], linear[4], image, NULL));
        loop = attach_loop(image, &fd);
        must(mount(loop, target, is_linear ? "ext4" : fs, 0, NULL));
        close(fd);
        return true;
}

int main(int argc, char **argv) {
        static const char *const all[] = { "tmpfs", "ext4", "ext4-linear", "xfs", "btrfs" };
        static const struct {
                const char *name;
                GTestDataFunc func;
        } tests[] = {
                { "share", test_share },
                { "directories", test_directories },
                { "empty", test_empty },
                { "types", test_types },
                { "spellings", test_spellings },
                { "deep", test_deep },
                { "mount-inside", test_mount_inside },
                { "vanishing", test_vanishing },
                { "uniform-small", test_uniform_small },
                { "uniform-large", test_uniform_large },
                { "bounded", test_bounded },
        };

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;
        for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
                if (!mount_fs(all[i]))
                        continue;
                for (size_t k = 0; k < G_N_ELEMENTS(tests); k++) {
                        g_autofree char *path = path_printf("/%s/%s", all[i], tests[k].name);

                        g_test_add_data_func(path, all[i], tests[k].func);
                }
        }
        g_test_add_func("/refused", test_refused);
        g_test_add_func("/progress", test_progress);
        g_test_add_func("/seed", test_seed);
        return g_test_run();
}

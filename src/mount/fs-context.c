/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>
#include <sys/utsname.h>

#include <libmount.h>

#include "model/mount-options.h"
#include "mount/fs-context.h"
#include "mount/loop.h"

/* Linux 6.6; missing in glibc 2.36. */
enum { CMD_CREATE_EXCL = 8 };

enum { WORDS_MAX = 1024 };

static bool kernel_is_at_least(unsigned major, unsigned minor) {
        unsigned running_major, running_minor;
        struct utsname u;

        if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &running_major, &running_minor) != 2)
                return false;
        return running_major > major || (running_major == major && running_minor >= minor);
}

bool fs_context_takes(const char *fs_type, bool with_context) {
        static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "vfat", "tmpfs" };

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(fs_type, types[i]))
                        return true;
        /* Linux 6.1 sets its labels twice, which fails with EINVAL; it parses its options itself since 6.8. */
        return streq(fs_type, "btrfs") && (!with_context || kernel_is_at_least(6, 12));
}

bool fs_context_is_supported(void) {
        _cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -EBADF;

        if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return false;
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return tree >= 0;
}

/* What the kernel has logged to the context: "e ", "w " or "i " and a line, one for each read(2). */
static void read_words(int fs, char words[static WORDS_MAX]) {
        size_t n = 0;
        ssize_t k;

        while (n + 3 < WORDS_MAX && (k = read(fs, words + n, WORDS_MAX - n - 1)) > 0) {
                size_t length = (size_t) k;

                if (length > 2 && words[n + 1] == ' ') {
                        memmove(words + n, words + n + 2, length - 2);
                        length -= 2;
                }
                while (length > 0 && words[n + length - 1] == '\n')
                        length--;
                n += length;
                memcpy(words + n, "; ", 2);
                n += 2;
        }
        words[n >= 2 ? n - 2 : 0] = '\0';
}

static int fail(const StageSpec *spec, int fs, int number, int *ret_errno, Failure *f) {
        char words[WORDS_MAX] = "";

        if (fs >= 0)
                read_words(fs, words);
        *ret_errno = number;
        return stage_spec_failure(spec, isempty(words) ? strerror(number) : words, number, f);
}

/* What mount(2) takes as flags of the file system. */
static bool is_file_system_flag(const char *name, size_t n) {
        static const char *const flags[] = { "sync", "async", "dirsync", "lazytime", "nolazytime" };

        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (strlen(flags[i]) == n && memcmp(flags[i], name, n) == 0)
                        return true;
        return false;
}

static int set_option(int fs, const char *name, size_t n_name, const char *value, size_t n_value) {
        _cleanup_free_ char *key = strndup(name, n_name), *text = value ? strndup(value, n_value) : NULL;

        if (!key || (value && !text))
                return -ENOMEM;
        return fsconfig(fs, text ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, text, 0) < 0 ? -errno : 0;
}

/* flags: what mount(2) takes as flags, of which those of the mount are set when it is there. Others are for libmount. */
static int set_each(int fs, char *options, bool flags) {
        char *name, *value;
        size_t n_name, n_value;

        while (options && mnt_optstr_next_option(&options, &name, &n_name, &value, &n_value) == 0) {
                int r;

                if (flags && mount_option_is_attribute(name, n_name))
                        continue;
                if (flags && !is_file_system_flag(name, n_name))
                        return -EINVAL;
                r = set_option(fs, name, n_name, value, n_value);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int set_options(int fs, const StageSpec *spec) {
        _cleanup_free_ char *all = NULL, *of_user = NULL, *of_mount = NULL, *of_fs = NULL;
        _cleanup_strv_ char **options = NULL;
        int r;

        r = stage_spec_options(spec, &options);
        if (r < 0)
                return r;
        all = strv_join(options, ",");
        if (!all)
                return -ENOMEM;
        r = mnt_split_optstr(all, &of_user, &of_mount, &of_fs, 0, 0);
        if (r < 0)
                return r;
        if (!isempty(of_user))
                return -EINVAL; /* for libmount alone */
        r = set_each(fs, of_mount, true);
        if (r < 0)
                return r;
        return set_each(fs, of_fs, false);
}

static int configure(int fs, const StageSpec *spec, const char *source) {
        if (fsconfig(fs, FSCONFIG_SET_STRING, "source", source, 0) < 0)
                return -errno;
        if (spec->read_only && fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
                return -errno;
        /* By itself, so its comma needs no quotes. */
        if (!isempty(spec->context) && fsconfig(fs, FSCONFIG_SET_STRING, "context", spec->context, 0) < 0)
                return -errno;
        return set_options(fs, spec);
}

static int create(int fs, bool exclusive) {
        if (exclusive && fsconfig(fs, CMD_CREATE_EXCL, NULL, NULL, 0) >= 0)
                return 0;
        if (exclusive && errno != EOPNOTSUPP)
                return -errno;
        return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

static int mount_source(const StageSpec *spec, const char *source, bool exclusive, int *ret_tree, int *ret_errno,
                        Failure *f) {
        _cleanup_close_ int fs = fsopen(spec->source->fs->name, FSOPEN_CLOEXEC), tree = -EBADF;
        int r;

        if (fs < 0)
                return fail(spec, -EBADF, errno, ret_errno, f);
        r = configure(fs, spec, source);
        if (r >= 0)
                r = create(fs, exclusive);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return fail(spec, fs, -r, ret_errno, f);
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (tree < 0)
                return fail(spec, fs, errno, ret_errno, f);
        *ret_tree = TAKE_FD(tree);
        return 0;
}

int fs_context_mount(const StageSpec *spec, bool exclusive, int *ret_tree, char **ret_source, int *ret_errno,
                     Failure *f) {
        _cleanup_close_ int loop_fd = -EBADF, tree = -EBADF;
        _cleanup_free_ char *source = NULL;
        int r;

        assert(spec && spec->source);
        assert(ret_tree && ret_source && ret_errno);

        if (spec->source->is_image) {
                r = image_open_loop(spec->source, spec->staging->locks, spec->read_only, &loop_fd, &source, f);
                if (r != 0)
                        return r;
        } else {
                source = strdup(spec->source->path);
                if (!source)
                        return -ENOMEM;
        }
        r = mount_source(spec, source, exclusive, &tree, ret_errno, f);
        if (r != 0)
                return r;

        *ret_tree = TAKE_FD(tree);
        *ret_source = TAKE_PTR(source);
        return 0;
}

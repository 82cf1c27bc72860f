/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>
#include <sys/utsname.h>

#include <libmount.h>

#include "model/mount-options.h"
#include "mount/loop-device.h"
#include "mount/on-disk.h"
#include "mount/stage-source.h"

/* Linux 6.6; missing in glibc 2.36. */
enum { CMD_CREATE_EXCL = 8 };

enum { EXPLANATION_MAX = 1024 };

DEFINE_CLEANUP_FUNC(struct libmnt_context *, mnt_free_context);

int stage_spec_options(const StageSpec *spec, char ***ret) {
        _cleanup_strv_ char **options = NULL;
        int r;

        r = strv_copy(spec->options, &options);
        if (r < 0)
                return r;
        /* A superblock can ask for a panic of the kernel when it finds damage. */
        if (ext_is_type(spec->source->fs->name)) {
                r = mount_options_add(&options, (char *[]){ (char *) "errors=remount-ro", NULL });
                if (r < 0)
                        return r;
        }
        if (!isempty(spec->context)) {
                r = mount_options_add(&options, spec->source->fs->context_options);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(options);
        return 0;
}

static const char *remedy(int number) {
        switch (number) {
        case EBUSY:
                return "something uses it: a mount in another namespace, RAID, the device mapper or swap";
        case EROFS:
        case EACCES:
                return "the device can't be written: ask for a read-only mount";
        case ENODEV:
                return "the kernel has no driver for this type of file system";
        case EIO:
        case EUCLEAN:
        case ENOTBLK:
                return "the device or the file system on it is damaged: run fsck(8)";
        default:
                return "the kernel's log says more: journalctl -k";
        }
}

int stage_spec_failure(const StageSpec *spec, const char *text, int number, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(text, EXPLANATION_MAX);

        if (number == ENOMEM || !escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s as %s failed: %s (%s); %s.", spec->source->name,
                           spec->source->fs->name, escaped,
                           number > 0 ? strempty(strerrorname_np(number)) : "no errno", remedy(number));
}

/* --- by a file system context --- */

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
        /* Linux 6.1 sets its labels twice, which fails with EINVAL; it parses its options itself since 6.8.
         */
        return streq(fs_type, "btrfs") && (!with_context || kernel_is_at_least(6, 12));
}

bool fs_context_is_supported(void) {
        _cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -EBADF;

        if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return false;
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return tree >= 0;
}

/* Reads the lines that the kernel has logged to the context: "e ", "w " or "i " and a line, one for each
 * read(2). */
static void read_words(int fs, char words[static EXPLANATION_MAX]) {
        size_t n = 0;
        ssize_t k;

        while (n + 3 < EXPLANATION_MAX && (k = read(fs, words + n, EXPLANATION_MAX - n - 1)) > 0) {
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
        char words[EXPLANATION_MAX] = "";

        if (fs >= 0)
                read_words(fs, words);
        *ret_errno = number;
        return stage_spec_failure(spec, isempty(words) ? strerror(number) : words, number, f);
}

/* The options that mount(2) takes as flags of the file system. */
static bool is_file_system_flag(const char *name, size_t n) {
        static const char *const flags[] = { "sync", "async", "dirsync", "lazytime", "nolazytime" };

        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (strlen(flags[i]) == n && memcmp(flags[i], name, n) == 0)
                        return true;
        return false;
}

/* flags: what mount(2) takes as flags, of which those of the mount are set when it is there. Others are for
 * libmount. */
static int set_each(int fs, char *options, bool flags) {
        char *name, *value;
        size_t n_name, n_value;

        while (options && mnt_optstr_next_option(&options, &name, &n_name, &value, &n_value) == 0) {
                _cleanup_free_ char *key = NULL, *text = NULL;

                if (flags && mount_option_is_attribute(name, n_name))
                        continue;
                if (flags && !is_file_system_flag(name, n_name))
                        return -EINVAL;
                key = strndup(name, n_name);
                text = value ? strndup(value, n_value) : NULL;
                if (!key || (value && !text))
                        return -ENOMEM;
                if (fsconfig(fs, text ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, text, 0) < 0)
                        return -errno;
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

int fs_context_mount(const StageSpec *spec, bool exclusive, int *ret_tree, char **ret_source, int *ret_errno,
                     Failure *f) {
        _cleanup_close_ int loop_fd = -EBADF, fs = -EBADF, tree = -EBADF;
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

        fs = fsopen(spec->source->fs->name, FSOPEN_CLOEXEC);
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
        *ret_source = TAKE_PTR(source);
        return 0;
}

/* --- by libmount --- */

bool attach_uses_helper(const char *fs_type) {
        static const char *const directories[] = { "/sbin", "/sbin/fs.d", "/sbin/fs" };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                char path[256];

                /* A name that is too long is no helper's. */
                if (snprintf(path, sizeof(path), "%s/mount.%s", directories[i], fs_type) < (int) sizeof(path) &&
                    access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

/* The context is quoted for the kernel, which would take "c2" of an unquoted "c1,c2" for an option. It
 * contains neither quotes nor backslashes: context_canonicalize() has checked it. */
static int build_options(const StageSpec *spec, char **ret) {
        const char *const own[] = { "nosuid", "nodev", spec->read_only ? "ro" : "rw" };
        _cleanup_strv_ char **options = NULL;
        int r;

        r = stage_spec_options(spec, &options);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(own); i++) {
                r = strv_extend(&options, own[i]);
                if (r < 0)
                        return r;
        }
        if (!isempty(spec->context)) {
                r = strv_consume(&options, strdup_printf("context=\"%s\"", spec->context));
                if (r < 0)
                        return r;
        }

        *ret = strv_join(options, ",");
        return *ret ? 0 : -ENOMEM;
}

static int mount_failure(const StageSpec *spec, struct libmnt_context *context, int status, int *ret_errno,
                         Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        char text[EXPLANATION_MAX] = "";

        (void) mnt_context_get_excode(context, status, text, sizeof(text));
        if (isempty(text))
                (void) snprintf(text, sizeof(text), "no explanation");
        if (!mnt_context_helper_executed(context)) {
                *ret_errno = mnt_context_syscall_called(context) ? mnt_context_get_syscall_errno(context) : -status;
                return stage_spec_failure(spec, text, *ret_errno, f);
        }
        *ret_errno = 0;
        escaped = string_escape(text, EXPLANATION_MAX);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED,
                           "Mounting %s by mount.%s failed with status %i: %s. See the journal for its output.",
                           spec->source->name, spec->source->fs->name, mnt_context_get_helper_status(context),
                           escaped);
}

int attach_file_system(const StageSpec *spec, int *ret_errno, Failure *f) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = mnt_new_context();
        _cleanup_free_ char *options = NULL, *loop = NULL;
        _cleanup_close_ int loop_fd = -EBADF;
        int r;

        assert(spec && spec->source);
        assert(ret_errno);

        if (!context)
                return -ENOMEM;
        r = build_options(spec, &options);
        if (r < 0)
                return r;
        if (spec->source->is_image) {
                r = image_open_loop(spec->source, spec->staging->locks, spec->read_only, &loop_fd, &loop, f);
                if (r != 0)
                        return r;
        }
        r = mnt_context_set_optsmode(context, MNT_OMODE_NOTAB)
                ?: mnt_context_disable_mtab(context, 1)
                /* A device that turns out to be read-only is an error, not a read-only mount. */
                ?: mnt_context_enable_rwonly_mount(context, !spec->read_only)
                ?: mnt_context_set_source(context, loop ?: spec->source->path)
                ?: mnt_context_set_target(context, spec->staging->directory)
                ?: mnt_context_set_fstype(context, spec->source->fs->name)
                ?: mnt_context_set_options(context, options);
        if (r < 0)
                return r;

        r = mnt_context_mount(context);
        if (r != 0 || mnt_context_get_status(context) != 1)
                return mount_failure(spec, context, r, ret_errno, f);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>
#include <sys/utsname.h>

#include <libmount.h>

#include "model/mount-options.h"
#include "mount/denial.h"
#include "mount/image.h"
#include "mount/on-disk.h"
#include "mount/stage-source.h"

/* Linux 6.6; missing in glibc 2.36. */
enum { CMD_CREATE_EXCL = 8 };

int stage_spec_options(const StageSpec *spec, char ***ret) {
        _cleanup_strv_ char **options = NULL;
        int r;

        r = strv_copy(spec->options, &options);
        if (r < 0)
                return r;
        /* A superblock can ask for a kernel panic on errors. */
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

/* A read-only mount fails with EROFS if the journal has to be replayed on a device that can't be written. */
static const char *read_only_remedy(const StageSpec *spec) {
        const char *fs_type = spec->source->fs->name;

        if (!spec->read_only)
                return "the device can't be written: ask for a read-only mount";
        if ((streq(fs_type, "ext3") || streq(fs_type, "ext4")) && !strv_contains(spec->options, "noload") &&
            !strv_contains(spec->options, "norecovery"))
                return "its journal can't be replayed, as the device can't be written: pass the mount option noload to do without, or make the device writable (blockdev --setrw DEVICE)";
        if (streq(fs_type, "xfs") && !strv_contains(spec->options, "norecovery"))
                return "its log can't be replayed, as the device can't be written: pass the mount option norecovery to do without, or make the device writable (blockdev --setrw DEVICE)";
        return "the kernel's log says more: journalctl -k";
}

static const char *errno_remedy(const StageSpec *spec, int number) {
        switch (number) {
        case EBUSY:
                return "something uses it: a program such as mkfs or fsck (fuser -v DEVICE), a mount in another namespace, RAID, the device mapper or swap";
        case EROFS:
                return read_only_remedy(spec);
        case EACCES:
                return spec->source->fs->source == SOURCE_NETWORK
                               ? "the server denies it: check what it exports to this node"
                               : read_only_remedy(spec);
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
        const Source *source = spec->source;
        const bool can_be_written = spec->read_only || !source->read_only;

        if (number == EACCES && can_be_written && source->fs->source != SOURCE_NETWORK)
                return denial_mount_failure(source->name, source->fs->name, spec->context, f);
        if (number == ENOMEM || !escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s as %s failed: %s (%s); %s.", source->name,
                           source->fs->name, escaped, number > 0 ? strempty(strerrorname_np(number)) : "no errno",
                           errno_remedy(spec, number));
}

bool stage_uses_helper(const char *fs_type) {
        static const char *const directories[] = { "/sbin", "/sbin/fs.d", "/sbin/fs" };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                char path[256];

                /* No helper has a longer name. */
                if (snprintf(path, sizeof(path), "%s/mount.%s", directories[i], fs_type) < (int) sizeof(path) &&
                    access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

/* --- by a file system context --- */

static bool kernel_is_at_least(unsigned major, unsigned minor) {
        unsigned running_major, running_minor;
        struct utsname u;

        if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &running_major, &running_minor) != 2)
                return false;
        return running_major > major || (running_major == major && running_minor >= minor);
}

bool fs_context_takes(const StageSpec *spec) {
        static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "vfat", "tmpfs" };
        const char *fs_type = spec->source->fs->name;
        bool known = false;

        if (!spec->staging->fs_context)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                known = known || streq(fs_type, types[i]);
        /* Linux 6.1 sets the labels of btrfs twice, which fails with EINVAL; since 6.8 btrfs parses its
         * options itself. */
        if (streq(fs_type, "btrfs"))
                known = isempty(spec->context) || kernel_is_at_least(6, 12);
        return known && !stage_uses_helper(fs_type);
}

bool fs_context_is_supported(void) {
        _cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -EBADF;

        if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return false;
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return tree >= 0;
}

/* Reports the messages that the kernel has logged to the context: "e ", "w " or "i " and a line, one for each
 * read(2). */
static int fs_context_failure(const StageSpec *spec, int fs, int number, int *ret_errno, Failure *f) {
        char words[EXPLANATION_MAX] = "";
        size_t n = 0;
        ssize_t k;

        while (fs >= 0 && n + 3 < sizeof(words) && (k = read(fs, words + n, sizeof(words) - n - 1)) > 0) {
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
        *ret_errno = number;
        return stage_spec_failure(spec, isempty(words) ? strerror(number) : words, number, f);
}

/* Whether mount(2) takes the option as a flag of the file system. */
static bool is_file_system_flag(const char *name, size_t n) {
        static const char *const flags[] = { "sync", "async", "dirsync", "lazytime", "nolazytime" };

        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (strlen(flags[i]) == n && memcmp(flags[i], name, n) == 0)
                        return true;
        return false;
}

/* flags: the options are mount(2) flags; attributes are skipped, because they are set on the finished mount.
 * Options that only libmount knows fail with -EINVAL. */
static int set_options(int fs, char *options, bool flags) {
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

/* Sets the options of spec, and makes or shares the superblock. */
static int fs_context_create(int fs, const StageSpec *spec, const char *source, bool *exclusive) {
        _cleanup_free_ char *all = NULL, *of_user = NULL, *of_mount = NULL, *of_fs = NULL;
        _cleanup_strv_ char **options = NULL;
        int r;

        if (fsconfig(fs, FSCONFIG_SET_STRING, "source", source, 0) < 0)
                return -errno;
        if (spec->read_only && fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
                return -errno;
        /* The context is set alone, so its comma needs no quotes. */
        if (!isempty(spec->context) && fsconfig(fs, FSCONFIG_SET_STRING, "context", spec->context, 0) < 0)
                return -errno;

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
                return -EINVAL; /* only libmount knows these options */
        r = set_options(fs, of_mount, true);
        if (r < 0)
                return r;
        r = set_options(fs, of_fs, false);
        if (r < 0)
                return r;

        if (*exclusive && fsconfig(fs, CMD_CREATE_EXCL, NULL, NULL, 0) >= 0)
                return 0;
        if (*exclusive && errno != EOPNOTSUPP)
                return -errno;
        *exclusive = false;
        return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

int fs_context_mount(const StageSpec *spec, bool *exclusive, int *ret_tree, char **ret_source, int *ret_errno,
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
                return fs_context_failure(spec, -EBADF, errno, ret_errno, f);
        r = fs_context_create(fs, spec, source, exclusive);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return fs_context_failure(spec, fs, -r, ret_errno, f);
        tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (tree < 0)
                return fs_context_failure(spec, fs, errno, ret_errno, f);

        *ret_tree = TAKE_FD(tree);
        *ret_source = TAKE_PTR(source);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/file.h>

#include <libmount.h>

#include "mount/attach.h"
#include "mount/loop.h"

enum { EXPLANATION_MAX = 1024 };

DEFINE_CLEANUP_FUNC(struct libmnt_context *, mnt_free_context);

static int append_missing(char ***options, char *const *list) {
        for (size_t i = 0; list && list[i]; i++) {
                int r;

                if (strv_contains(*options, list[i]))
                        continue;
                r = strv_extend(options, list[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The context is quoted for the kernel, which would take "c2" of an unquoted "c1,c2" for an option. It contains
 * neither quotes nor backslashes: context_canonicalize() has checked it. */
static int append_context(char ***options, const StageSpec *spec) {
        int r;

        r = append_missing(options, spec->source->fs->context_options);
        if (r < 0)
                return r;
        return strv_consume(options, strdup_printf("context=\"%s\"", spec->context));
}

static int build_options(const StageSpec *spec, char **ret) {
        _cleanup_strv_ char **options = NULL;
        int r;

        r = strv_copy(spec->options, &options);
        if (r < 0)
                return r;
        r = strv_extend(&options, "nosuid");
        if (r < 0)
                return r;
        r = strv_extend(&options, "nodev");
        if (r < 0)
                return r;
        r = strv_extend(&options, spec->read_only ? "ro" : "rw");
        if (r < 0)
                return r;
        if (!isempty(spec->context)) {
                r = append_context(&options, spec);
                if (r < 0)
                        return r;
        }

        *ret = strv_join(options, ",");
        return *ret ? 0 : -ENOMEM;
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

static int mount_failure(Failure *f, const StageSpec *spec, struct libmnt_context *context, int status,
                         AttachError *error) {
        _cleanup_free_ char *text = NULL;
        char buffer[EXPLANATION_MAX] = "";

        (void) mnt_context_get_excode(context, status, buffer, sizeof(buffer));
        text = string_escape(isempty(buffer) ? "no explanation" : buffer, EXPLANATION_MAX);
        if (!text)
                return -ENOMEM;

        if (mnt_context_helper_executed(context)) {
                error->number = 0;
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "Mounting %s by mount.%s failed with status %i: %s. See the journal for its output.",
                        spec->source->name, spec->source->fs->name, mnt_context_get_helper_status(context), text);
        }
        error->number = mnt_context_syscall_called(context) ? mnt_context_get_syscall_errno(context) : -status;
        return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s as %s failed: %s (%s); %s.", spec->source->name,
                           spec->source->fs->name, text,
                           error->number > 0 ? strempty(strerrorname_np(error->number)) : "no errno",
                           remedy(error->number));
}

static int loop_failure(Failure *f, const StageSpec *spec, int error) {
        if (error == -ENOMEM)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "No loop device could be set up for '%s' (%s): is the module loaded, and does /dev/loop-control exist?",
                spec->source->name, strerrorname_np(-error));
}

/* On a descriptor of its own: a loop device keeps the source's open, and the lock with it. */
static int lock_image(const Source *s) {
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", s->fd);
        _cleanup_close_ int fd = -EBADF;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* Two loop devices over one image would be two superblocks that write to it, so an existing one is used. */
static int open_loop(const StageSpec *spec, int *ret_fd, char **ret_path, Failure *f) {
        const Source *s = spec->source;
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_free_ bool *read_only = NULL;
        _cleanup_close_ int lock = -EBADF;
        size_t n;
        int r;

        /* Two children at the same time would both find no device. */
        lock = lock_image(s);
        if (lock < 0)
                return lock;
        r = loop_find(s->image_device, s->image_inode, &devices, &read_only, &n);
        if (r < 0)
                return r;
        if (n == 0) {
                r = loop_attach(s->fd, s->path, s->read_only, ret_fd, ret_path);
                return r < 0 ? loop_failure(f, spec, r) : 0;
        }
        if (read_only[0] && !spec->read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "'%s' is attached to a read-only loop device: detach it (losetup -j), or ask for a read-only mount.",
                        s->name);
        r = loop_open(devices[0], ret_fd, ret_path);
        return r < 0 ? loop_failure(f, spec, r) : 0;
}

static int prepare(const StageSpec *spec, const char *source, const char *options, struct libmnt_context **ret) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = mnt_new_context();
        int r;

        if (!context)
                return -ENOMEM;
        r = mnt_context_set_optsmode(context, MNT_OMODE_NOTAB);
        if (r < 0)
                return r;
        r = mnt_context_disable_mtab(context, 1);
        if (r < 0)
                return r;
        /* A device that turns out to be read-only is an error, not a read-only mount. */
        r = mnt_context_enable_rwonly_mount(context, !spec->read_only);
        if (r < 0)
                return r;
        r = mnt_context_set_source(context, source);
        if (r < 0)
                return r;
        r = mnt_context_set_target(context, spec->directory);
        if (r < 0)
                return r;
        r = mnt_context_set_fstype(context, spec->source->fs->name);
        if (r < 0)
                return r;
        r = mnt_context_set_options(context, options);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(context);
        return 0;
}

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

int attach_file_system(const StageSpec *spec, AttachError *error, Failure *f) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = NULL;
        _cleanup_free_ char *options = NULL, *loop = NULL;
        _cleanup_close_ int loop_fd = -EBADF;
        int r;

        assert(spec && spec->source);
        assert(error);

        r = build_options(spec, &options);
        if (r < 0)
                return r;
        if (spec->source->is_image) {
                r = open_loop(spec, &loop_fd, &loop, f);
                if (r != 0)
                        return r;
        }
        r = prepare(spec, loop ?: spec->source->path, options, &context);
        if (r < 0)
                return r;

        r = mnt_context_mount(context);
        if (r != 0 || mnt_context_get_status(context) != 1)
                return mount_failure(f, spec, context, r, error);
        return 0;
}

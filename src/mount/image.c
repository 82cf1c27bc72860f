/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/file.h>

#include "mount/image.h"
#include "mount/loop.h"

static const char *remedy(int error) {
        switch (error) {
        case -ENOENT:
        case -ENODEV:
        case -ENXIO:
                return "is the module loaded, and does /dev/loop-control exist?";
        case -EBUSY:
                return "others take the free ones as fast as they are found, try again.";
        default:
                return "the kernel's log may say more (journalctl -k).";
        }
}

static int loop_failure(Failure *f, const Source *s, int error) {
        if (error == -ENOMEM)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED, "No loop device could be set up for '%s' (%s): %s", s->name,
                           strerrorname_np(-error), remedy(error));
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

/* Returns 1 if there is one over the image, 0 if not, or a negative errno. */
static int open_attached(const Source *s, int *ret_fd, char **ret_path, bool *ret_read_only) {
        _cleanup_free_ dev_t *devices = NULL;
        size_t n;
        int r;

        r = loop_find(s->image_device, s->image_inode, &devices, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = loop_open(devices[i], s->image_device, s->image_inode, ret_fd, ret_path, ret_read_only);
        return r;
}

int image_open_loop(const Source *s, bool read_only, int *ret_fd, char **ret_path, Failure *f) {
        _cleanup_close_ int lock = -EBADF, fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        bool attached_read_only = false;
        int r;

        /* Two children at the same time would both find no device. */
        lock = lock_image(s);
        if (lock < 0)
                return lock;
        r = open_attached(s, &fd, &path, &attached_read_only);
        if (r == 0)
                r = loop_attach(s->fd, s->path, s->read_only, &fd, &path);
        if (r < 0)
                return loop_failure(f, s, r);
        if (attached_read_only && !read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "'%s' is attached to a read-only loop device: detach it (losetup -j), or ask for a read-only mount.",
                        s->name);
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

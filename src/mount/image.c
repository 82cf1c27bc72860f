/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/file.h>

#include "mount/image.h"
#include "mount/loop.h"

static int loop_failure(Failure *f, const Source *s, int error) {
        if (error == -ENOMEM)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "No loop device could be set up for '%s' (%s): is the module loaded, and does /dev/loop-control exist?",
                s->name, strerrorname_np(-error));
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

int image_open_loop(const Source *s, bool read_only, int *ret_fd, char **ret_path, Failure *f) {
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_free_ bool *attached_read_only = NULL;
        _cleanup_close_ int lock = -EBADF;
        size_t n;
        int r;

        /* Two children at the same time would both find no device. */
        lock = lock_image(s);
        if (lock < 0)
                return lock;
        r = loop_find(s->image_device, s->image_inode, &devices, &attached_read_only, &n);
        if (r < 0)
                return r;
        if (n == 0) {
                r = loop_attach(s->fd, s->path, s->read_only, ret_fd, ret_path);
                return r < 0 ? loop_failure(f, s, r) : 0;
        }
        if (attached_read_only[0] && !read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "'%s' is attached to a read-only loop device: detach it (losetup -j), or ask for a read-only mount.",
                        s->name);
        r = loop_open(devices[0], ret_fd, ret_path);
        return r < 0 ? loop_failure(f, s, r) : 0;
}

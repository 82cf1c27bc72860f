/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "basic/open-util.h"
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

/* Not on the image, which others may be able to lock too. Two images that get the same byte of the file wait for each other. */
static int lock_image(const Source *s, const char *locks) {
        const uint64_t place = s->image_inode ^ ((uint64_t) s->image_device << 40);
        struct flock lock = {
                .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t) (place & (INT64_MAX >> 1)), .l_len = 1
        };
        _cleanup_close_ int fd = open(locks, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0 || fcntl(fd, F_OFD_SETLKW, &lock) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* So that a later holder can write, also for a read-only mount. Some images can't be opened for writing although they can be
 * written, such as those that can be appended to only. */
static int attach(const Source *s, int *ret_fd, char **ret_path, bool *ret_read_only) {
        _cleanup_close_ int writable = s->read_only ? -EROFS : open_again(s->fd, O_RDWR);

        if (writable == -EROFS || writable == -EPERM) {
                *ret_read_only = true;
                return loop_attach(s->fd, s->path, true, ret_fd, ret_path);
        }
        return writable < 0 ? writable : loop_attach(writable, s->path, false, ret_fd, ret_path);
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

int image_open_loop(const Source *s, const char *locks, bool read_only, int *ret_fd, char **ret_path, Failure *f) {
        _cleanup_close_ int lock = -EBADF, fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        bool attached_read_only = false;
        int r;

        /* Two children at the same time would both find no device. */
        lock = lock_image(s, locks);
        if (lock < 0)
                return lock;
        r = open_attached(s, &fd, &path, &attached_read_only);
        if (r == 0)
                r = attach(s, &fd, &path, &attached_read_only);
        if (r < 0)
                return loop_failure(f, s, r);
        if (attached_read_only && !read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "'%s' can't be opened for writing (see lsattr(1)), or is attached to a read-only loop device (losetup -j): mend that, or ask for a read-only mount.",
                        s->name);
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

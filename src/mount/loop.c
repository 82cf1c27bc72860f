/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/string-util.h"
#include "mount/loop.h"

/* Somebody else may take the free device between our asking for it and attaching it, or have it open exclusively for a
 * moment. */
enum { LOOP_MAJOR_NUMBER = 7, ATTACH_ATTEMPTS = 64, ATTACH_PAUSE_USEC = 1000 };

DEFINE_CLEANUP_FUNC(DIR *, closedir);

static int open_node(dev_t device, int *ret_fd, char **ret_path) {
        _cleanup_free_ char *path = strdup_printf("/dev/loop%u", minor(device));
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISBLK(st.st_mode) || st.st_rdev != device)
                return -ENODEV;

        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

/* Opens it, and asks the descriptor, which keeps it attached, what it is attached to: by its number alone it may have become
 * another one at any time. Returns 1 if it is attached, 0 if not, or a negative errno. */
static int open_attached(dev_t device, int *ret_fd, char **ret_path, struct loop_info64 *ret) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        r = open_node(device, &fd, &path);
        if (r == -ENOENT || r == -ENXIO || r == -ENODEV)
                return 0;
        if (r < 0)
                return r;
        if (ioctl(fd, LOOP_GET_STATUS64, ret) < 0)
                return errno == ENXIO ? 0 : -errno;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 1;
}

static bool shows_whole(const struct loop_info64 *info) {
        return info->lo_offset == 0 && info->lo_sizelimit == 0;
}

int loop_open(dev_t device, dev_t file_device, ino_t file_inode, int *ret_fd, char **ret_path, bool *ret_read_only) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        struct loop_info64 info;
        int r;

        assert(ret_fd && ret_path);

        r = open_attached(device, &fd, &path, &info);
        if (r <= 0)
                return r;
        if (info.lo_device != file_device || info.lo_inode != file_inode || !shows_whole(&info))
                return 0;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        if (ret_read_only)
                *ret_read_only = info.lo_flags & LO_FLAGS_READ_ONLY;
        return 1;
}

int loop_find_image(dev_t device, dev_t *ret_file_device, ino_t *ret_file_inode) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        struct loop_info64 info;
        int r;

        if (major(device) != LOOP_MAJOR_NUMBER)
                return 0;
        r = open_attached(device, &fd, &path, &info);
        if (r <= 0)
                return r;
        if (!shows_whole(&info))
                return 0;
        *ret_file_device = info.lo_device;
        *ret_file_inode = info.lo_inode;
        return 1;
}

/* The minor number of a name in /sys/block, if it is a loop device that is attached. */
static int parse_attached(DIR *dir, const char *name, unsigned *ret) {
        _cleanup_free_ char *attribute = NULL;
        const char *digits = startswith(name, "loop");
        unsigned long long n;

        if (!digits || parse_u64(digits, &n) < 0 || n > UINT32_MAX)
                return 0;
        attribute = strdup_printf("%s/loop/backing_file", name);
        if (!attribute)
                return -ENOMEM;
        if (faccessat(dirfd(dir), attribute, F_OK, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        *ret = (unsigned) n;
        return 1;
}

/* Appends the device if it shows the whole of the file. */
static int append_match(dev_t **devices, size_t *n, dev_t device, dev_t file_device, ino_t file_inode) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        dev_t *grown;
        int r;

        r = loop_open(device, file_device, file_inode, &fd, &path, NULL);
        if (r <= 0)
                return r;
        grown = reallocarray(*devices, *n + 1, sizeof(dev_t));
        if (!grown)
                return -ENOMEM;
        *devices = grown;
        grown[(*n)++] = device;
        return 0;
}

int loop_find(dev_t file_device, ino_t file_inode, dev_t **ret, size_t *ret_n) {
        _cleanup_(closedirp) DIR *dir = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        struct dirent *entry;
        size_t n = 0;

        assert(ret && ret_n);

        dir = opendir("/sys/block");
        if (!dir)
                return -errno;

        while ((errno = 0, entry = readdir(dir))) {
                unsigned number = 0;
                int r;

                r = parse_attached(dir, entry->d_name, &number);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                r = append_match(&devices, &n, makedev(LOOP_MAJOR_NUMBER, number), file_device, file_inode);
                if (r < 0)
                        return r;
        }
        if (errno > 0)
                return -errno;

        *ret = TAKE_PTR(devices);
        *ret_n = n;
        return 0;
}

static int attach_to(unsigned number, int file_fd, const char *file_path, bool read_only, int *ret_fd,
                     char **ret_path) {
        struct loop_config config = {
                .fd = (unsigned) file_fd,
                .info.lo_flags = LO_FLAGS_AUTOCLEAR | (read_only ? LO_FLAGS_READ_ONLY : 0),
        };
        _cleanup_free_ char *path = strdup_printf("/dev/loop%u", number);
        _cleanup_close_ int fd = -EBADF;

        if (!path)
                return -ENOMEM;
        /* For losetup(8) only: the kernel uses the descriptor. */
        (void) snprintf((char *) config.info.lo_file_name, sizeof(config.info.lo_file_name), "%s", file_path);

        fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (ioctl(fd, LOOP_CONFIGURE, &config) < 0)
                return -errno;

        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

int loop_attach(int file_fd, const char *file_path, bool read_only, int *ret_fd, char **ret_path) {
        _cleanup_close_ int control = -EBADF;

        assert(file_fd >= 0);
        assert(file_path);
        assert(ret_fd && ret_path);

        control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
        if (control < 0)
                return -errno;

        for (unsigned i = 0;; i++) {
                int number, r;

                number = ioctl(control, LOOP_CTL_GET_FREE);
                if (number < 0)
                        return -errno;
                r = attach_to((unsigned) number, file_fd, file_path, read_only, ret_fd, ret_path);
                if (r != -EBUSY || i >= ATTACH_ATTEMPTS)
                        return r;
                usleep(ATTACH_PAUSE_USEC);
        }
}

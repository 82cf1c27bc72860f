/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/path-util.h"
#include "mount/device.h"
#include "mount/loop-device.h"
#include "mount/mountinfo.h"

/* Another program may take the free device before selvol attaches it, or open it exclusively for a moment. */
enum { LOOP_MAJOR_NUMBER = 7, ATTACH_ATTEMPTS = 64, ATTACH_PAUSE_USEC = 1000 };

DEFINE_CLEANUP_FUNC(DIR *, closedir);

/* Opens a loop device and reads its file from the descriptor, which keeps the device attached; the number
 * alone may lead to another file at any time. Returns 1 if the device shows a whole file; 0 if only a part,
 * or if it is not attached; or a negative errno. */
static int open_attached(dev_t device, int *ret_fd, char **ret_path, struct loop_info64 *ret) {
        _cleanup_free_ char *path = strdup_printf("/dev/loop%u", minor(device));
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT || errno == ENXIO || errno == ENODEV ? 0 : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISBLK(st.st_mode) || st.st_rdev != device)
                return 0;
        if (ioctl(fd, LOOP_GET_STATUS64, ret) < 0)
                return errno == ENXIO ? 0 : -errno;
        if (ret->lo_offset != 0 || ret->lo_sizelimit != 0)
                return 0;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 1;
}

int loop_read_attribute(dev_t device, const char *name, char **ret) {
        _cleanup_free_ char *path = strdup_printf("/sys/block/loop%u/%s", minor(device), name);
        _cleanup_close_ int fd = -EBADF;
        char text[PATH_MAX + 1];
        ssize_t n;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text));
        if (n < 0)
                return errno == ENOENT || errno == ENODEV || errno == ENXIO ? 0 : -errno;
        if (n == 0)
                return 0;
        *ret = strndup(text, (size_t) n - 1);
        return *ret ? 1 : -ENOMEM;
}

int loop_open(dev_t device, dev_t file_device, ino_t file_inode, int *ret_fd, char **ret_path, bool *ret_read_only) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        struct loop_info64 info = { 0 };
        int r;

        assert(ret_fd && ret_path);

        r = open_attached(device, &fd, &path, &info);
        if (r <= 0)
                return r;
        if (info.lo_device != file_device || info.lo_inode != file_inode)
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
        struct loop_info64 info = { 0 };
        int r;

        if (major(device) != LOOP_MAJOR_NUMBER)
                return 0;
        r = open_attached(device, &fd, &path, &info);
        if (r <= 0)
                return r;
        *ret_file_device = info.lo_device;
        *ret_file_inode = info.lo_inode;
        return 1;
}

bool loop_parse_name(const char *name, dev_t *ret) {
        const char *digits = startswith(name, "loop");
        unsigned long long n;

        if (!digits || parse_u64(digits, &n) < 0 || n > UINT32_MAX)
                return false;
        *ret = makedev(LOOP_MAJOR_NUMBER, (unsigned) n);
        return true;
}

void loop_backing_done(LoopBacking *b) {
        free(b->path);
        *b = (LoopBacking){ 0 };
}

int loop_read_backing(dev_t device, LoopBacking *ret) {
        _cleanup_(loop_backing_done) LoopBacking b = { 0 };
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct loop_info64 info = { 0 };
        int r;

        r = device_find_disk(device, &device);
        if (r < 0 || major(device) != LOOP_MAJOR_NUMBER)
                return r < 0 ? r : 0;
        path = strdup_printf("/dev/loop%u", minor(device));
        if (!path)
                return -ENOMEM;
        r = loop_read_attribute(device, "loop/backing_file", &b.path);
        if (r <= 0)
                return r < 0 ? r : -ENXIO;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
                return -errno;
        b.device = info.lo_rdevice;
        b.file_device = info.lo_device;
        b.file_inode = info.lo_inode;
        *ret = TAKE_STRUCT(b);
        return 1;
}

/* Whether the path is in a devtmpfs by the text of the mount table: another file system's server might not
 * answer. kubelet binds a device to a file of its own. */
static bool is_in_dev(const char *path, const MountTable *table) {
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++)
                if (streq(m->fs_type, "devtmpfs") &&
                    (streq(path, m->target) || (streq(m->root, "/") && path_is_beneath(path, m->target))))
                        return true;
        return false;
}

int loop_find_over(dev_t device, dev_t *ret) {
        _cleanup_(closedirp) DIR *dir = opendir("/sys/block");
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        struct dirent *entry;

        if (!dir)
                return -errno;
        /* An image may have many loop devices over it, but each by its file. */
        if (major(device) == LOOP_MAJOR_NUMBER)
                return 0;
        while ((errno = 0, entry = readdir(dir))) {
                _cleanup_free_ char *path = NULL;
                struct stat st;
                dev_t loop;
                int r;

                if (!loop_parse_name(entry->d_name, &loop))
                        continue;
                r = loop_read_attribute(loop, "loop/backing_file", &path);
                if (r > 0 && !table)
                        r = mount_table_read(NULL, &table);
                if (r < 0)
                        return r;
                if (!path || !is_in_dev(path, table) || stat(path, &st) < 0 || !S_ISBLK(st.st_mode) ||
                    st.st_rdev != device)
                        continue;
                *ret = loop;
                return 1;
        }
        return errno > 0 ? -errno : 0;
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
        /* losetup(8) shows the name; the kernel uses the descriptor. */
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
        _cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

        assert(file_fd >= 0);
        assert(file_path);
        assert(ret_fd && ret_path);

        if (control < 0)
                return -errno;

        for (unsigned i = 0;; i++) {
                int number = ioctl(control, LOOP_CTL_GET_FREE), r;

                if (number < 0)
                        return -errno;
                r = attach_to((unsigned) number, file_fd, file_path, read_only, ret_fd, ret_path);
                if (r != -EBUSY || i >= ATTACH_ATTEMPTS)
                        return r;
                usleep(ATTACH_PAUSE_USEC);
        }
}

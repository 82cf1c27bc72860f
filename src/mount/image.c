/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/path-util.h"
#include "mount/device.h"
#include "mount/image.h"
#include "mount/loop-device.h"
#include "mount/mountinfo.h"

DEFINE_CLEANUP_FUNC(DIR *, closedir);

static char *link_path(dev_t device) {
        return strdup_printf(LOOP_LINKS "/loop%u", minor(device));
}

/* The kernel counts the attachments of all devices (diskseq), so the link of an earlier one is not taken for
 * that of the present one. Returns 1, 0 if the device is not attached, or a negative errno. */
static int link_text(dev_t device, dev_t file_device, ino_t file_inode, char **ret) {
        _cleanup_free_ char *attachment = NULL;
        int r;

        r = loop_read_attribute(device, "diskseq", &attachment);
        if (r <= 0)
                return r;
        *ret = strdup_printf("%s %u:%u:%llu", attachment, major(file_device), minor(file_device),
                             (unsigned long long) file_inode);
        return *ret ? 1 : -ENOMEM;
}

static int write_link(const char *loop, const Source *s) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        struct stat st;
        int r;

        assert(loop);

        if (stat(loop, &st) < 0)
                return -errno;
        r = link_text(st.st_rdev, s->image_device, s->image_inode, &text);
        if (r <= 0)
                return r < 0 ? r : -ENXIO;
        path = link_path(st.st_rdev);
        if (!path)
                return -ENOMEM;
        if ((unlink(path) < 0 && errno != ENOENT) || symlink(text, path) < 0)
                return -errno;
        return 0;
}

/* Whether the worker has attached the device to the file, by whatever name. Returns 1, 0 if the worker has
 * attached it to another file, -ENOENT if another program has attached it, or another negative errno. */
static int read_link(dev_t device, dev_t file_device, ino_t file_inode) {
        _cleanup_free_ char *path = link_path(device), *text = NULL;
        char found[PATH_MAX];
        ssize_t n;
        int r;

        if (!path)
                return -ENOMEM;
        n = readlink(path, found, sizeof(found) - 1);
        if (n < 0)
                return -errno;
        found[n] = '\0';
        r = link_text(device, file_device, file_inode, &text);
        if (r <= 0)
                return r;
        if (strncmp(found, text, strcspn(text, " ") + 1) != 0)
                return -ENOENT;
        return streq(found, text);
}

/* Compares the last names of two paths. The kernel adds a word to the path of a file that was removed. */
static bool have_one_name(const char *shown, const char *path) {
        static const char removed[] = " (deleted)";
        const char *a = strrchr(shown, '/'), *b = strrchr(path, '/');
        size_t n;

        if (!a || !b)
                return false;
        n = strlen(b);
        return strncmp(a, b, n) == 0 && (a[n] == '\0' || streq(a + n, removed));
}

/* Whether a file can be on the file system with the device, by the text of the mount table. btrfs and overlay
 * show other numbers there than stat(2) does. *table is read once. */
static int may_be_on(const char *path, dev_t file_device, MountTable **table) {
        const Mount *found = NULL;
        int r = 0;

        if (!*table)
                r = mount_table_read(NULL, table);
        if (r < 0)
                return r;
        for (const Mount *m = (*table)->mounts; m < (*table)->mounts + (*table)->n; m++)
                if ((streq(m->target, "/") || path_is_beneath(path, m->target)) &&
                    (!found || strlen(m->target) >= strlen(found->target)))
                        found = m;
        return !found || streq(found->fs_type, "btrfs") || streq(found->fs_type, "overlay") ||
               found->device == file_device;
}

/* Whether the device is worth to be asked for its file. LOOP_GET_STATUS64 waits for the file's server, which
 * may not answer, and then can't be killed: so of the devices of others only those are asked whose file has
 * the name of the image, or is on its file system. */
static int may_show(dev_t device, dev_t file_device, ino_t file_inode, const char *file_path, MountTable **table) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = loop_read_attribute(device, "loop/backing_file", &path);
        if (r == -ENAMETOOLONG)
                return 1;
        if (r <= 0)
                return r;
        r = read_link(device, file_device, file_inode);
        if (r != -ENOENT)
                return r;
        assert(path);
        return have_one_name(path, file_path) ? 1 : may_be_on(path, file_device, table);
}

int loop_find(dev_t file_device, ino_t file_inode, const char *file_path, dev_t **ret, size_t *ret_n) {
        _cleanup_(closedirp) DIR *dir = opendir("/sys/block");
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        struct dirent *entry;
        size_t n = 0;

        assert(file_path);
        assert(ret && ret_n);

        if (!dir)
                return -errno;
        while ((errno = 0, entry = readdir(dir))) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;
                dev_t device;
                int r;

                if (!loop_parse_name(entry->d_name, &device))
                        continue;
                r = may_show(device, file_device, file_inode, file_path, &table);
                if (r > 0)
                        r = loop_open(device, file_device, file_inode, &fd, &path, NULL);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                r = device_append(&devices, &n, device);
                if (r < 0)
                        return r;
        }
        if (errno > 0)
                return -errno;

        *ret = TAKE_PTR(devices);
        *ret_n = n;
        return 0;
}

static int loop_failure(Failure *f, const Source *s, int error) {
        const char *remedy = "the kernel's log may say more (journalctl -k).";

        if (error == -ENOMEM)
                return -ENOMEM;
        if (error == -ENOENT || error == -ENODEV || error == -ENXIO)
                remedy = "is the module loaded, and does /dev/loop-control exist?";
        else if (error == -EBUSY)
                remedy = "others take the free ones as fast as they are found, try again.";
        return failure_set(f, FAILURE_MOUNT_FAILED, "No loop device could be set up for '%s' (%s): %s", s->name,
                           strerrorname_np(-error), remedy);
}

/* Locks a byte of a separate file, because others may be able to lock the image. Two images with the same
 * byte wait for each other. */
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

/* Attaches the image for writing if possible, also for a read-only mount, so that a later holder can write.
 * Some writable images can't be opened for writing, such as append-only ones. */
static int attach_image(const Source *s, int *ret_fd, char **ret_path, bool *ret_read_only) {
        _cleanup_close_ int writable = s->read_only || s->write_denied ? -EROFS : open_again(s->fd, O_RDWR),
                            fd = -EBADF;
        const bool read_only = writable == -EROFS || writable == -EPERM;
        _cleanup_free_ char *path = NULL;
        int r;

        if (writable < 0 && !read_only)
                return writable;
        r = loop_attach(read_only ? s->fd : writable, s->path, read_only, &fd, &path);
        if (r < 0)
                return r;
        r = write_link(path, s);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        *ret_read_only = read_only;
        return 0;
}

int image_open_loop(const Source *s, const char *locks, bool read_only, int *ret_fd, char **ret_path, Failure *f) {
        /* Without the lock two children might both find no device and attach one each. */
        _cleanup_close_ int lock = lock_image(s, locks), fd = -EBADF;
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_free_ char *path = NULL;
        bool attached_read_only = false;
        size_t n = 0;
        int r;

        if (lock < 0)
                return lock;
        r = loop_find(s->image_device, s->image_inode, s->path, &devices, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = loop_open(devices[i], s->image_device, s->image_inode, &fd, &path, &attached_read_only);
        if (r == 0)
                r = attach_image(s, &fd, &path, &attached_read_only);
        if (r < 0)
                return loop_failure(f, s, r);
        if (attached_read_only && !read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "'%s' can't be opened for writing (see lsattr(1)), or is attached to a read-only loop device (losetup -j IMAGE): mend that, or ask for a read-only mount.",
                        s->name);
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE_PTR(path);
        return 0;
}

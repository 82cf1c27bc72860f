/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/open-util.h"
#include "basic/path-util.h"
#include "mount/device.h"
#include "mount/on-disk.h"
#include "mount/probe.h"
#include "mount/source.h"

/* A path that is a source is opened with O_PATH: what is checked is what the descriptor is of.
 *
 * Beneath /dev symbolic links are followed, as udev makes them, and must end on its file system, as must all
 * directories on the way: so /dev/shm and /dev/mqueue, where anybody can make files and links, are no
 * sources, and tell nothing of what is elsewhere. Only block devices are sources there. Beneath the other
 * directories of SourceRoots= no link is followed, and only images are sources: whoever can rename a link or
 * make a device node in a volume would choose the disk otherwise. An image must belong to root, nobody else
 * may be able to change it or what is in a directory above it, and it must not be beneath TargetRoots=: there
 * root is also that of a container, on volumes of the host's own file system too, as an emptyDir; unless
 * ImagesOfOthers= says otherwise. */

void source_done(Source *s) {
        free(s->path);
        free(s->name);
        s->fd = fd_close(s->fd);
        *s = SOURCE_INIT;
}

/* Explains errors of a path that is a source. Returns INVALID_VOLUME, MOUNT_FAILED, or error if it says
 * nothing of the path. */
static int path_failure(const char *source, int error, Failure *f) {
        switch (error) {
        case -ENOENT:
        case -ENOTDIR:
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s' does not exist: is the volume attached to this node?");
        case -ENXIO:
        case -ENODEV:
        case -ENOMEDIUM:
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is a device node without a device: is the volume attached to this node?");
        case -ELOOP:
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s': too many levels of symbolic links.");
        case -EIO:
                return failure_set_about(
                        f, FAILURE_MOUNT_FAILED, source,
                        "Source '%s' can't be read (EIO): check the device, the kernel's log says more (journalctl -k).");
        case -ENAMETOOLONG:
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s' has a name that is too long.");
        default:
                return error;
        }
}

static int read_path(int fd, char **ret) {
        _cleanup_free_ char *link = strdup_printf("/proc/self/fd/%i", fd);
        char buffer[4096];
        ssize_t n;

        if (!link)
                return -ENOMEM;
        n = readlink(link, buffer, sizeof(buffer));
        if (n < 0)
                return -errno;
        if ((size_t) n == sizeof(buffer))
                return -ENAMETOOLONG;
        *ret = strndup(buffer, (size_t) n);
        return *ret ? 0 : -ENOMEM;
}

static int outside_dev_failure(const char *source, Failure *f) {
        return failure_set_about(
                f, FAILURE_PATH_NOT_ALLOWED, source,
                "Source '%s' is on another file system than /dev, or leads there by a symbolic link: pass the device node.");
}

/* The directory is on the file system of /dev, where root alone makes links: so the last link may be
 * followed. */
static int open_in_dev(const char *source, const char *relative, int *ret_fd, struct stat *ret_stat, Failure *f) {
        _cleanup_close_ int dev = open("/dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), directory = -EBADF,
                            fd = -EBADF;
        const char *name = strrchr(source, '/') + 1;
        _cleanup_free_ char *above =
                name == relative ? strdup(".") : strndup(relative, (size_t) (name - 1 - relative));
        struct stat of_dev;

        if (!above)
                return -ENOMEM;
        if (dev < 0 || fstat(dev, &of_dev) < 0)
                return -errno;
        directory = open_in_file_system(dev, above, O_PATH | O_DIRECTORY);
        if (directory == -EXDEV)
                return outside_dev_failure(source, f);
        if (directory < 0)
                return path_failure(source, directory, f);
        fd = openat(directory, name, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return path_failure(source, -errno, f);
        if (fstat(fd, ret_stat) < 0)
                return -errno;
        if (ret_stat->st_dev != of_dev.st_dev)
                return outside_dev_failure(source, f);
        if (!S_ISBLK(ret_stat->st_mode))
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source, "Source '%s' is not a block device.");
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* An automount is mounted when it is opened as a directory; a name that is none is looked at. */
static int open_name(int fd, const char *name, bool is_last) {
        int next = is_last ? -1 : openat(fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

        if (is_last || (next < 0 && errno == ENOTDIR))
                next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return next < 0 ? -errno : next;
}

/* One name after the other, so that each directory is known and none is reached by a link. *ret_changed:
 * the first one that others can change, or NULL. */
static int walk(const char *source, int *ret_fd, struct stat *ret_stat, char **ret_changed, Failure *f) {
        _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *changed = NULL;
        struct stat st = { 0 };

        if (fd < 0)
                return -errno;
        for (const char *end = source; *end;) {
                _cleanup_free_ char *path = NULL;
                int next;

                end += 1 + strcspn(end + 1, "/");
                path = strndup(source, (size_t) (end - source));
                if (!path)
                        return -ENOMEM;
                next = open_name(fd, strrchr(path, '/') + 1, !*end);
                if (next < 0)
                        return path_failure(source, next, f);
                close(fd);
                fd = next;

                if (fstat(fd, &st) < 0)
                        return -errno;
                if (S_ISLNK(st.st_mode))
                        return failure_set_about(
                                f, FAILURE_PATH_NOT_ALLOWED, source,
                                "Source '%s' is or goes through a symbolic link, which is followed beneath /dev only: pass the path it leads to.");
                if (!changed && (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH))))
                        changed = TAKE_PTR(path);
        }
        *ret_fd = TAKE_FD(fd);
        *ret_stat = st;
        *ret_changed = TAKE_PTR(changed);
        return 0;
}

static int open_in_roots(const char *source, const Settings *settings, int *ret_fd, struct stat *ret_stat,
                         Failure *f) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *changed = NULL;
        int r;

        if (!settings->images_of_others && roots_contain(settings->target_roots, source))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' is beneath TargetRoots=, where root in a container can change files: move the image to another directory of SourceRoots= (selvolctl config). To allow it nevertheless, set ImagesOfOthers=yes under [Worker] " SETTINGS_REMEDY);
        r = walk(source, &fd, ret_stat, &changed, f);
        if (r != 0)
                return r;
        if (S_ISBLK(ret_stat->st_mode))
                return failure_set_about(f, FAILURE_PATH_NOT_ALLOWED, source,
                                         "Source '%s' is a device node outside /dev: pass the node in /dev.");
        if (!S_ISREG(ret_stat->st_mode))
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s' is neither a block device nor an image file.");
        if (changed && !settings->images_of_others) {
                _cleanup_free_ char *escaped = string_escape(source, 200), *part = string_escape(changed, 200);

                if (!escaped || !part)
                        return -ENOMEM;
                return failure_set(
                        f, FAILURE_PATH_NOT_ALLOWED,
                        "Source '%s' can be changed by others than root: '%s' must belong to root and be writable by root only (chown root, chmod go-w). To allow it nevertheless, set ImagesOfOthers=yes under [Worker] " SETTINGS_REMEDY,
                        escaped, part);
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int open_device(Source *s, int pinned, dev_t device, const char *source, const Settings *settings,
                       Failure *f) {
        int read_only = 0, r;

        s->device = device;
        r = host_uses_device(settings, device);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set_about(f, FAILURE_PATH_NOT_ALLOWED, source,
                                         "Source '%s' holds the host's own system and can't be used as a volume.");

        s->fd = open_again(pinned, O_RDONLY);
        if (s->fd < 0)
                return s->fd;
        if (ioctl(s->fd, BLKROGET, &read_only) < 0)
                return -errno;
        s->read_only = read_only;
        return 0;
}

/* Nothing is opened for writing before it is mounted: who only asks for a plan must not have that done. */
static int open_image(Source *s, int pinned, const struct stat *st) {
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", pinned);

        if (!path)
                return -ENOMEM;
        s->is_image = true;
        s->image_device = st->st_dev;
        s->image_inode = st->st_ino;
        /* On a read-only file system, or immutable. EACCES is an error: a volume must not become read-only
         * because of the permissions of its image. */
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
                if (errno != EROFS && errno != EPERM)
                        return -errno;
                s->read_only = true;
        }
        s->fd = open_again(pinned, O_RDONLY);
        return s->fd < 0 ? s->fd : 0;
}

static int open_local(const char *source, const Settings *settings, Source *s, Failure *f) {
        _cleanup_close_ int pinned = -EBADF;
        const char *in_dev = startswith(source, "/dev/");
        struct stat st = { 0 };
        int r;

        if (!path_is_normalized(source))
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is not an absolute path of a block device or image without '.', '..' and extra slashes.");
        if (!roots_contain(settings->source_roots, source))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' is not beneath an allowed directory. To allow it, repeat the current value of SourceRoots= (selvolctl config) and add its directory, under [Worker] " SETTINGS_REMEDY);

        r = in_dev ? open_in_dev(source, in_dev, &pinned, &st, f) : open_in_roots(source, settings, &pinned, &st, f);
        if (r != 0)
                return r;
        r = read_path(pinned, &s->path);
        if (r < 0)
                return r;
        r = in_dev ? open_device(s, pinned, st.st_rdev, source, settings, f) : open_image(s, pinned, &st);
        return r < 0 ? path_failure(source, r, f) : r;
}

/* Of a superblock that can't be read mounting tells. */
static int check_ext_options(const Source *s, const Settings *settings, Failure *f) {
        uint8_t superblock[EXT_SUPERBLOCK_SIZE];

        if (!ext_is_type(s->fs->name) ||
            pread(s->fd, superblock, sizeof(superblock), EXT_SUPERBLOCK_OFFSET) != (ssize_t) sizeof(superblock))
                return 0;
        return ext_options_check(superblock, settings, s->fs, s->name, f);
}

/* The kernel would write to the other devices, too, which nobody has checked: it finds them by the UUID
 * that this one names. */
static int check_btrfs_devices(const Source *s, Failure *f) {
        uint64_t n;
        int r;

        if (!streq(s->fs->name, "btrfs"))
                return 0;
        r = btrfs_count_devices_on_disk(s->fd, &n);
        if (r < 0 || n <= 1)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The btrfs on %s is on several devices: a volume can be on one only. Remove the others with 'btrfs device remove'.",
                s->name);
}

/* What is to be asked of a server goes through sockets of the worker's. */
static int check_network(const char *fs_type, Failure *f) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd >= 0)
                return 0;
        if (errno != EAFNOSUPPORT && errno != EACCES && errno != EPERM)
                return -errno;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "File system type %s needs the network, which selvol-worker may not use. To allow it: install -D -m 644 /usr/share/doc/selvol/selvol-worker-network.conf /etc/systemd/system/selvol-worker.service.d/network.conf; systemctl daemon-reload; systemctl restart selvol-worker; and where SELinux is on: setsebool -P selvol_use_network on.",
                fs_type);
}

int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, Source *ret,
                Failure *f) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        const FileSystem *fs = isempty(fs_type) ? NULL : settings_file_system(settings, fs_type);
        int r;

        assert(source);
        assert(settings);
        assert(ret);

        if (!isempty(fs_type) && !fs)
                return failure_set_about(
                        f, FAILURE_TYPE_NOT_ALLOWED, fs_type,
                        "File system type '%1$s' is not allowed. To allow it, add a section [FileSystem %1$s] " SETTINGS_REMEDY);

        if (fs && fs->source != SOURCE_BLOCK) {
                if (fs->source == SOURCE_NETWORK) {
                        r = check_network(fs->name, f);
                        if (r != 0)
                                return r;
                }
                s.fs = fs;
                /* Without a source it is named after its type, whatever the caller passes. */
                s.path = strdup(fs->source == SOURCE_NONE ? fs->name : source);
                if (!s.path)
                        return -ENOMEM;
        } else {
                r = open_local(source, settings, &s, f);
                if (r != 0)
                        return r;
                r = probe_type(s.fd, source, fs_type, search, settings, &s.fs, f);
                if (r != 0)
                        return r;
        }

        s.name = string_escape(s.path, 200);
        if (!s.name)
                return -ENOMEM;
        r = check_ext_options(&s, settings, f);
        if (r != 0)
                return r;
        r = check_btrfs_devices(&s, f);
        if (r != 0)
                return r;
        *ret = s;
        s = SOURCE_INIT;
        return 0;
}

bool source_device_is_read_only(dev_t device) {
        _cleanup_free_ char *path = strdup_printf("/sys/dev/block/%u:%u/ro", major(device), minor(device));
        _cleanup_fclose_ FILE *file = path ? fopen(path, "re") : NULL;

        return file && fgetc(file) == '1';
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <blkid/blkid.h>

#include "basic/path-util.h"
#include "model/request.h"
#include "mount/denial.h"
#include "mount/device.h"
#include "mount/host-use.h"
#include "mount/loop-device.h"
#include "mount/on-disk.h"
#include "mount/source-type.h"
#include "mount/source.h"

/* A path of a source is opened with O_PATH, and all checks use the descriptor.
 *
 * Beneath /dev symbolic links, such as udev's, are followed, but all directories on the way and the node must
 * be on the file system of /dev. So /dev/shm and /dev/mqueue, where anybody can make files and links, are no
 * sources, and reveal nothing about other places. Only block devices are sources there. Beneath the other
 * directories of SourceRoots= no link is followed, and only images are sources: otherwise a user who can
 * rename a link or make a device node in a volume would choose the disk. An image must belong to root, nobody
 * else may be able to change the image or a directory above, and the image must not be beneath TargetRoots=,
 * where root may be root of a container, also in volumes on the host's own file system such as an emptyDir.
 * ImagesOfOthers= lifts these three rules. */

/* A loop device may show another one. */
enum { LOOPS_MAX = 8 };

void source_done(Source *s) {
        free(s->path);
        free(s->name);
        s->fd = fd_close(s->fd);
        *s = SOURCE_INIT;
}

/* Explains errors of a source path. fd: as for denial_source_failure(). Returns INVALID_VOLUME, MOUNT_FAILED,
 * SELINUX_DENIED, or error if it is not about the path. */
static int path_failure(const char *source, int fd, int error, Failure *f) {
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
        case -EACCES:
                return denial_source_failure(fd, source, f);
        case -ENAMETOOLONG:
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s' has a name that is too long.");
        default:
                return error;
        }
}

static int outside_dev_failure(const char *source, Failure *f) {
        return failure_set_about(
                f, FAILURE_PATH_NOT_ALLOWED, source,
                "Source '%s' is on another file system than /dev, or leads there by a symbolic link: pass the device node.");
}

/* Opens a source in /dev. The directory is on the file system of /dev, where only root makes links, so the
 * last link may be followed. */
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
                return path_failure(source, dev, directory, f);
        fd = openat(directory, name, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return path_failure(source, directory, -errno, f);
        if (fstat(fd, ret_stat) < 0)
                return -errno;
        if (ret_stat->st_dev != of_dev.st_dev)
                return outside_dev_failure(source, f);
        if (!S_ISBLK(ret_stat->st_mode))
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source, "Source '%s' is not a block device.");
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* Opens one path component after the other, so each directory is checked and no link is followed.
 * *ret_changed: the first path that others can change, or NULL. */
static int open_by_names(const char *source, int *ret_fd, struct stat *ret_stat, char **ret_changed, Failure *f) {
        _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *changed = NULL;
        struct stat st = { 0 };

        if (fd < 0)
                return -errno;
        for (const char *end = source; *end;) {
                _cleanup_free_ char *path = NULL;
                const char *name;
                int next = -EBADF;

                end += 1 + strcspn(end + 1, "/");
                path = strndup(source, (size_t) (end - source));
                if (!path)
                        return -ENOMEM;
                name = strrchr(path, '/') + 1;
                /* Opening an automount as a directory mounts it; a name that is no directory is opened as it
                 * is. */
                if (*end)
                        next = openat(fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
                if (!*end || (next < 0 && errno == ENOTDIR))
                        next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return path_failure(source, fd, -errno, f);
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
        r = open_by_names(source, &fd, ret_stat, &changed, f);
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

static int image_of_others_failure(const char *source, const LoopBacking *b, const char *why, const char *how,
                                   Failure *f) {
        _cleanup_free_ char *escaped = string_escape(source, 200), *image = string_escape(b->path, 200);

        if (!escaped || !image)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' shows '%s', %s: %s. To allow it nevertheless, set ImagesOfOthers=yes under [Worker] " SETTINGS_REMEDY,
                escaped, image, why, how);
}

/* Judges a loop device by its image, to which others than root must not be able to write. */
static int check_loop_image(const LoopBacking *b, const char *source, const Settings *settings, Failure *f) {
        struct stat st;

        if (settings->images_of_others)
                return 0;
        if (roots_contain(settings->target_roots, b->path))
                return image_of_others_failure(source, b,
                                               "beneath TargetRoots=, where root in a container can change files",
                                               "move the image elsewhere", f);
        if (stat(b->path, &st) < 0)
                return image_of_others_failure(
                        source, b, strerror(errno),
                        "attach an image that the worker can look at (losetup -f --show IMAGE)", f);
        if (st.st_dev != b->file_device || st.st_ino != b->file_inode)
                return image_of_others_failure(source, b, "where another file is by now",
                                               "attach an image that is there (losetup -f --show IMAGE)", f);
        if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return image_of_others_failure(source, b, "which others than root can change",
                                               "run chown root and chmod go-w on the image", f);
        return 0;
}

/* A user may mount those images that are sources by themselves. */
static int check_loop_image_of_user(const LoopBacking *b, const char *source, const Settings *settings, Failure *f) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st = { 0 };
        int r;

        if (!path_is_normalized(b->path) || !roots_contain(settings->source_roots, b->path))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' shows an image that is not beneath a directory of SourceRoots= (selvolctl config): others than root may mount images from there only.");
        r = open_in_roots(b->path, settings, &fd, &st, f);
        if (r == 0 && (st.st_dev != b->file_device || st.st_ino != b->file_inode))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' shows an image that has another name by now: attach one that is there (losetup -f --show IMAGE).");
        return r;
}

/* Checks a device, and what a loop device or a partition of one shows: an image, or a device that is the
 * source then. */
static int check_device(dev_t device, const char *source, const Settings *settings, SourceUser user, Failure *f) {
        for (unsigned depth = 0; depth < LOOPS_MAX; depth++) {
                _cleanup_(loop_backing_done) LoopBacking backing = { 0 };
                int r;

                r = loop_read_backing(device, &backing);
                if (r < 0)
                        return r;
                if (r == 0 && user == SOURCE_FOR_USER) {
                        r = host_check_listed(settings, device, source, f);
                        if (r != 0)
                                return r;
                }
                r = host_check_device(settings, device, source, f);
                if (r != 0 || !backing.path)
                        return r;
                if (backing.device == 0)
                        return user == SOURCE_FOR_ROOT ? check_loop_image(&backing, source, settings, f)
                                                       : check_loop_image_of_user(&backing, source, settings, f);
                device = backing.device;
        }
        return -ELOOP;
}

static int open_device(Source *s, int pinned, dev_t device, const char *source, const Settings *settings,
                       SourceUser user, Failure *f) {
        int read_only = 0, r;

        s->device = device;
        r = host_uses_device(settings, device);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set_about(f, FAILURE_PATH_NOT_ALLOWED, source,
                                         "Source '%s' holds the host's own system and can't be used as a volume.");
        /* Nothing is read yet. A loop device that is open can't be attached to another image. */
        s->fd = open_again(pinned, O_RDONLY);
        if (s->fd < 0)
                return s->fd;
        if (user != SOURCE_FOR_SELVOL) {
                r = check_device(device, source, settings, user, f);
                if (r != 0)
                        return r;
        }
        if (ioctl(s->fd, BLKROGET, &read_only) < 0)
                return -errno;
        s->read_only = read_only;
        return 0;
}

/* Opens an image, but not for writing: a caller may only ask for a plan. */
static int open_image(Source *s, int pinned, const struct stat *st) {
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", pinned);

        if (!path)
                return -ENOMEM;
        s->is_image = true;
        s->image_device = st->st_dev;
        s->image_inode = st->st_ino;
        /* The image is on a read-only file system, or immutable. EACCES is something else: permissions of its
         * image must not make a volume read-only. */
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
                if (errno != EROFS && errno != EPERM && errno != EACCES)
                        return -errno;
                s->write_denied = errno == EACCES;
                s->read_only = !s->write_denied;
        }
        s->fd = open_again(pinned, O_RDONLY);
        return s->fd < 0 ? s->fd : 0;
}

static int find_path(const char *source, char **ret, Failure *f) {
        const char *directory;
        _cleanup_free_ char *path = NULL;
        int r;

        r = device_name_to_path(source, &path);
        if (r < 0)
                return r;
        if (source_tag(source, &directory) &&
            (!path_is_normalized(path) || faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0))
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "No device has %s. 'lsblk -o NAME,LABEL,UUID,PARTLABEL,PARTUUID' lists those of this node.");
        *ret = TAKE_PTR(path);
        return 0;
}

static int open_local(const char *name, const Settings *settings, SourceUser user, Source *s, Failure *f) {
        _cleanup_close_ int pinned = -EBADF;
        _cleanup_free_ char *link = NULL, *source = NULL;
        const char *in_dev;
        char path[4096];
        struct stat st = { 0 };
        ssize_t n;
        int r;

        r = find_path(name, &source, f);
        if (r != 0)
                return r;
        assert(source);
        in_dev = startswith(source, "/dev/");
        if (!path_is_normalized(source))
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is not an absolute path of a block device or image without '.', '..' and extra slashes.");
        if (!roots_contain(settings->source_roots, source))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' is not beneath an allowed directory. To allow it, add its directory: SourceRoots=DIRECTORY under [Worker] " SETTINGS_REMEDY);

        r = in_dev ? open_in_dev(source, in_dev, &pinned, &st, f) : open_in_roots(source, settings, &pinned, &st, f);
        if (r != 0)
                return r;

        link = strdup_printf("/proc/self/fd/%i", pinned);
        if (!link)
                return -ENOMEM;
        n = readlink(link, path, sizeof(path));
        if (n < 0)
                return -errno;
        if ((size_t) n == sizeof(path))
                return -ENAMETOOLONG;
        s->path = strndup(path, (size_t) n);
        if (!s->path)
                return -ENOMEM;
        r = in_dev ? open_device(s, pinned, st.st_rdev, source, settings, user, f) : open_image(s, pinned, &st);
        if (r == -EACCES)
                return denial_source_failure(pinned, s->path, f);
        return r < 0 ? path_failure(source, pinned, r, f) : r;
}

/* Refuses mount options and devices that the superblock itself asks for. If the superblock can't be read, the
 * mount fails. */
static int check_superblock(const Source *s, const Settings *settings, Failure *f) {
        uint8_t superblock[EXT_SUPERBLOCK_SIZE];
        uint64_t n;

        assert(s->fs);

        if (ext_is_type(s->fs->name)) {
                if (pread(s->fd, superblock, sizeof(superblock), EXT_SUPERBLOCK_OFFSET) !=
                    (ssize_t) sizeof(superblock))
                        return 0;
                return ext_options_check(superblock, settings, s->fs, s->name, f);
        }
        /* The kernel would also write to the other devices of a btrfs, which it finds by the UUID and which
         * nobody has checked. */
        if (!streq(s->fs->name, "btrfs") || btrfs_count_devices_on_disk(s->fd, &n) < 0 || n <= 1)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The btrfs on %s is on several devices: a volume can be on one only. Remove the others with 'btrfs device remove DEVICE DIRECTORY' where it is mounted.",
                s->name);
}

int source_check_mounted(const Source *s, dev_t device, const Settings *settings, Failure *f) {
        _cleanup_free_ char *sysfs = strdup_printf("/sys/dev/block/%u:%u", major(device), minor(device)),
                            *path = NULL, *line = NULL;
        _cleanup_fclose_ FILE *file = NULL;
        char link[PATH_MAX];
        size_t size = 0;
        ssize_t n;
        int r;

        r = check_superblock(s, settings, f);
        if (r != 0 || !ext_is_type(s->fs->name))
                return r;
        /* mountinfo hides the options that the superblock itself asks for. */
        n = sysfs ? readlink(sysfs, link, sizeof(link) - 1) : -1;
        if (n < 0)
                return sysfs ? -errno : -ENOMEM;
        link[n] = '\0';
        path = strdup_printf("/proc/fs/ext4/%s/options", strrchr(link, '/') + 1);
        if (!path)
                return -ENOMEM;
        file = fopen(path, "re");
        /* Another driver for ext2 has none. */
        if (!file)
                return errno == ENOENT ? 0 : -errno;
        while (r == 0 && getline(&line, &size, file) > 0) {
                line[strcspn(line, "\n")] = '\0';
                r = ext_check_mounted_option(line, settings, s->fs, s->name, f);
        }
        return r == 0 && ferror(file) ? -EIO : r;
}

/* Checks that the worker may open sockets, which it needs to reach a server. */
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

int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, SourceUser user,
                Source *ret, Failure *f) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        const FileSystem *fs = isempty(fs_type) ? NULL : settings_file_system(settings, fs_type);
        int r;

        assert(source);
        assert(settings);
        assert(ret);

        if (!isempty(fs_type) && !fs)
                return fs_type_refuse(fs_type, f);

        if (fs && fs->source != SOURCE_BLOCK) {
                if (fs->source == SOURCE_NETWORK) {
                        r = check_network(fs->name, f);
                        if (r != 0)
                                return r;
                }
                s.fs = fs;
                /* A file system without a source is named after its type, whatever the caller passes. */
                s.path = strdup(fs->source == SOURCE_NONE ? fs->name : source);
                if (!s.path)
                        return -ENOMEM;
        } else {
                r = open_local(source, settings, user, &s, f);
                if (r != 0)
                        return r;
                r = source_find_type(s.fd, source, fs_type, search, settings, &s.fs, f);
                if (r != 0)
                        return r;
        }

        s.name = string_escape(s.path, 200);
        if (!s.name)
                return -ENOMEM;
        r = check_superblock(&s, settings, f);
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

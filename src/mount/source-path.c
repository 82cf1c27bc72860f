/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <unistd.h>

#include "basic/open-util.h"
#include "basic/path-util.h"
#include "mount/source-path.h"

int source_path_failure(const char *source, int error, Failure *f) {
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

static int fd_read_path(int fd, char **ret) {
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

/* The directory is on the file system of /dev, where root alone makes links: so the last link may be followed. */
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
                return source_path_failure(source, directory, f);
        fd = openat(directory, name, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return source_path_failure(source, -errno, f);
        if (fstat(fd, ret_stat) < 0)
                return -errno;
        if (ret_stat->st_dev != of_dev.st_dev)
                return outside_dev_failure(source, f);
        if (!S_ISBLK(ret_stat->st_mode))
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source, "Source '%s' is not a block device.");
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static bool others_can_change(const struct stat *st) {
        return st->st_uid != 0 || (st->st_mode & (S_IWGRP | S_IWOTH));
}

static int others_failure(const char *source, const char *part, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(source, 200), *changed = string_escape(part, 200);

        if (!escaped || !changed)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' can be changed by others than root: '%s' must belong to root and be writable by root only (chown root, chmod go-w). To allow it nevertheless, set ImagesOfOthers=yes under [Worker] " SETTINGS_REMEDY,
                escaped, changed);
}

/* What is opened as a directory is mounted first if it is an automount; what is none is looked at. */
static int open_name(int fd, const char *name, bool is_last) {
        int next = is_last ? -1 : openat(fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

        if (is_last || (next < 0 && errno == ENOTDIR))
                next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        return next < 0 ? -errno : next;
}

/* One name after the other, so that each directory is known and none is reached by a link. *ret_changed: the first one that
 * others can change, or NULL. */
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
                        return source_path_failure(source, next, f);
                close(fd);
                fd = next;

                if (fstat(fd, &st) < 0)
                        return -errno;
                if (S_ISLNK(st.st_mode))
                        return failure_set_about(
                                f, FAILURE_PATH_NOT_ALLOWED, source,
                                "Source '%s' is or goes through a symbolic link, which is followed beneath /dev only: pass the path it leads to.");
                if (!changed && others_can_change(&st))
                        changed = TAKE_PTR(path);
        }
        *ret_fd = TAKE_FD(fd);
        *ret_stat = st;
        *ret_changed = TAKE_PTR(changed);
        return 0;
}

static int open_image(const char *source, const Settings *settings, int *ret_fd, struct stat *ret_stat, Failure *f) {
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
        if (changed && !settings->images_of_others)
                return others_failure(source, changed, f);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int source_path_open(const char *source, const Settings *settings, int *ret_fd, struct stat *ret_stat,
                     char **ret_path, Failure *f) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        const char *relative;
        struct stat st = { 0 };
        int r;

        assert(source && settings);
        assert(ret_fd && ret_stat && ret_path);

        if (!path_is_normalized(source))
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is not an absolute path of a block device or image without '.', '..' and extra slashes.");
        if (!roots_contain(settings->source_roots, source))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, source,
                        "Source '%s' is not beneath an allowed directory. To allow it, repeat the current value of SourceRoots= (selvolctl config) and add its directory, under [Worker] " SETTINGS_REMEDY);

        relative = startswith(source, "/dev/");
        r = relative ? open_in_dev(source, relative, &fd, &st, f) : open_image(source, settings, &fd, &st, f);
        if (r != 0)
                return r;
        r = fd_read_path(fd, &path);
        if (r < 0)
                return r;

        *ret_fd = TAKE_FD(fd);
        *ret_stat = st;
        *ret_path = TAKE_PTR(path);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "basic/log.h"
#include "mount/health.h"

#define REMEDY "Unmount the volume everywhere, and mount it again"

int health_explain_errno(int error, const char *path, Failure *f) {
        _cleanup_free_ char *escaped = NULL;

        if (error != -EIO && error != -ESHUTDOWN && error != -EUCLEAN && error != -ENOTCONN && error != -ESTALE)
                return error;
        escaped = string_escape(path, 200);
        if (!escaped)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "The file system of '%s' fails with %s: it was shut down after an error, or its device or server is gone; see dmesg. " REMEDY
                " when it has been checked.",
                escaped, strerrorname_np(-error));
}

#define DEVICES "/sys/dev/block" /* sysfs(5) has a link here for each block device */

static int find_device(dev_t device, char **ret_name) {
        _cleanup_free_ char *link = strdup_printf(DEVICES "/%u:%u", major(device), minor(device));
        char path[PATH_MAX] = "";
        const char *slash;

        if (!link)
                return -ENOMEM;
        if (readlink(link, path, sizeof(path) - 1) < 0)
                return -errno;
        slash = strrchr(path, '/');
        *ret_name = strdup(slash ? slash + 1 : path);
        return *ret_name ? 0 : -ENOMEM;
}

/* Documentation/ABI/testing/sysfs-fs-ext4 of Linux. */
static int log_ext4_errors(const char *name, const char *path) {
        _cleanup_free_ char *file_name = strdup_printf("/sys/fs/ext4/%s/errors_count", name), *escaped = NULL;
        _cleanup_fclose_ FILE *file = file_name ? fopen(file_name, "re") : NULL;
        unsigned long n;

        if (!file || fscanf(file, "%lu", &n) != 1 || n == 0)
                return 0;
        escaped = string_escape(path, 200);
        if (!escaped)
                return -ENOMEM;
        log_warning(
                "%s: ext4 has noted %lu errors on %s since it was checked last, and may take no more writes: see dmesg. " REMEDY
                " when e2fsck has checked it.",
                escaped, n, name);
        return 0;
}

int health_check(int fd, const char *path, Failure *f) {
        _cleanup_free_ char *name = NULL;
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return health_explain_errno(-errno, path, f);
        if (S_ISDIR(st.st_mode)) {
                _cleanup_close_ int directory = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                /* Root may have no right to read what is another host's. */
                r = directory < 0 && errno != EACCES ? health_explain_errno(-errno, path, f) : 0;
                if (r != 0)
                        return r;
        }
        /* Network file systems, tmpfs and btrfs have numbers of no device. */
        if (major(st.st_dev) == 0)
                return 0;
        r = find_device(st.st_dev, &name);
        if (r == -ENOENT && access(DEVICES, F_OK) == 0)
                return failure_set_about(
                        f, FAILURE_MOUNT_FAILED, path,
                        "The device of '%s' is gone: what is not in memory can't be read, and nothing can be written. " REMEDY
                        " when the device is back.");
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return log_ext4_errors(name, path);
}

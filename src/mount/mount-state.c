/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "basic/log.h"
#include "model/limits.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"

#define LABEL_XATTR "security.selinux"
#define DEVICES     "/sys/dev/block" /* sysfs(5): has a link for each block device */
#define REMEDY      "Unmount the volume everywhere, and mount it again"

static int count_inodes(int fd, MountOutcome *o) {
        struct statfs sfs;

        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        o->inodes_used = sfs.f_files > sfs.f_ffree ? sfs.f_files - sfs.f_ffree : 0;
        return 0;
}

int read_back_mount(int fd, const char *target, MountOutcome *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        uint64_t id;
        int r;

        assert(fd >= 0);
        assert(target);
        assert(ret);

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_own(fd, true, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, id, &o.fact);
        if (r < 0)
                return r;
        o.superblock_read_only = o.fact.superblock_read_only;
        r = mount_table_overrides_labels(table, id);
        if (r < 0)
                return r;
        o.overrides_labels = r > 0;
        r = mount_table_is_idmapped(table, id);
        if (r < 0)
                return r;
        o.idmapped = r > 0;
        r = free_and_strdup(&o.fact.target, target);
        if (r < 0)
                return r;
        r = count_inodes(fd, &o);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        return 0;
}

/* Whether all files are known to have the wanted context, or SELinux is off. */
static bool labels_are_known(const StageSpec *spec, int root) {
        char label[CONTEXT_MAX + 1];
        ssize_t n;

        if (!spec->selinux)
                return true;
        if (isempty(spec->context))
                return false;
        n = fgetxattr(root, LABEL_XATTR, label, sizeof(label) - 1);
        if (n <= 0)
                return false;
        label[n] = '\0';
        /* For a mount with context= SELinux refuses every new label with EOPNOTSUPP, before other checks. The
         * call can't write anything, because the two flags contradict each other. */
        return streq(label, spec->context) &&
               fsetxattr(root, LABEL_XATTR, label, strlen(label) + 1, XATTR_CREATE | XATTR_REPLACE) < 0 &&
               errno == EOPNOTSUPP;
}

int read_back_detached(const StageSpec *spec, int tree, const char *source, MountOutcome *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int root = -EBADF;
        struct statvfs svfs;
        struct stat st;
        int r;

        assert(spec && spec->source);
        assert(source);
        assert(ret);

        /* For btrfs any directory may be mounted, and st_dev is not the device number of the mount table. */
        if (streq(spec->source->fs->name, "btrfs"))
                return 0;
        root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        if (!labels_are_known(spec, root))
                return 0;
        if (fstatvfs(root, &svfs) < 0 || fstat(root, &st) < 0)
                return -errno;
        o.fact.target = strdup("");
        o.fact.source = strdup(source);
        o.fact.fs_type = strdup(spec->source->fs->name);
        o.fact.device = strdup_printf("%u:%u", major(st.st_dev), minor(st.st_dev));
        o.fact.root = strdup("/");
        o.fact.context = strdup(spec->context);
        if (!o.fact.target || !o.fact.source || !o.fact.fs_type || !o.fact.device || !o.fact.root || !o.fact.context)
                return -ENOMEM;
        o.fact.read_only = o.fact.superblock_read_only = o.superblock_read_only = svfs.f_flag & ST_RDONLY;
        r = mount_identify(root, &o.fact.mount_id, NULL);
        if (r < 0)
                return r;
        r = count_inodes(root, &o);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        return 1;
}

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

/* Logs errors that ext4 has counted (Documentation/ABI/testing/sysfs-fs-ext4 of Linux). */
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
        _cleanup_free_ char *link = NULL;
        char device[PATH_MAX] = "";
        const char *slash;
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return health_explain_errno(-errno, path, f);
        if (S_ISDIR(st.st_mode)) {
                _cleanup_close_ int directory = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                /* Root may be denied access to files of another host. */
                r = directory < 0 && errno != EACCES ? health_explain_errno(-errno, path, f) : 0;
                if (r != 0)
                        return r;
        }
        /* Network file systems, tmpfs and btrfs have anonymous device numbers. */
        if (major(st.st_dev) == 0)
                return 0;
        link = strdup_printf(DEVICES "/%u:%u", major(st.st_dev), minor(st.st_dev));
        if (!link)
                return -ENOMEM;
        r = readlink(link, device, sizeof(device) - 1) < 0 ? -errno : 0;
        if (r == -ENOENT && access(DEVICES, F_OK) == 0)
                return failure_set_about(
                        f, FAILURE_MOUNT_FAILED, path,
                        "The device of '%s' is gone: what is not in memory can't be read, and nothing can be written. " REMEDY
                        " when the device is back.");
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        slash = strrchr(device, '/');
        return log_ext4_errors(slash ? slash + 1 : device, path);
}

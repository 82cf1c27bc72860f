/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <blkid/blkid.h>

#include "basic/path-util.h"
#include "model/request.h"
#include "mount/device.h"
#include "mount/mountinfo.h"
#include "mount/on-disk.h"

/* Holders lie on each other a few layers deep at most. */
enum { DEVICES_MAX = 4096, LAYERS_MAX = 8 };

DEFINE_CLEANUP_FUNC(DIR *, closedir);

int device_name_to_path(const char *source, char **ret) {
        const char *directory, *tag = source_tag(source, &directory);
        _cleanup_free_ char *encoded = NULL, *path = NULL;
        size_t size;

        path = tag ? NULL : strdup(source);
        if (tag) {
                size = 4 * strlen(tag) + 1;
                encoded = malloc(size);
                if (!encoded)
                        return -ENOMEM;
                if (blkid_encode_string(tag, encoded, size) < 0)
                        return -EINVAL;
                path = strdup_printf("%s/%s", directory, encoded);
        }
        if (!path)
                return -ENOMEM;
        *ret = TAKE_PTR(path);
        return 0;
}

static bool is_block_device(const char *path, dev_t *ret) {
        struct stat st;

        if (!startswith(path, "/dev/") || stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
                return false;
        *ret = st.st_rdev;
        return true;
}

int device_find_named(const char *source, dev_t *ret) {
        _cleanup_free_ char *path = NULL, *clean = NULL;
        const char *directory;
        int r;

        r = device_name_to_path(source, &path);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (path[0] != '/')
                return 0;
        clean = path_make_clean(path);
        if (!clean)
                return -ENOMEM;
        if (is_block_device(clean, ret))
                return 1;
        /* udev writes most UUIDs in small letters, and a person may not. */
        if (!source_tag(source, &directory) || !strstr(directory, "uuid"))
                return 0;
        for (char *c = clean + strlen(directory); *c; c++)
                *c = (char) tolower((unsigned char) *c);
        return is_block_device(clean, ret);
}

int btrfs_read_uuid(int fd, char **ret) {
        struct btrfs_ioctl_fs_info_args info = { 0 };
        char text[UUID_TEXT_SIZE];
        struct statfs sfs;

        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        /* Another file system, such as a FUSE one, may use the ioctl for something else. */
        if (sfs.f_type != BTRFS_SUPER_MAGIC) {
                *ret = NULL;
                return 0;
        }
        if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
                return -errno;
        *ret = strdup(uuid_format(info.fsid, text));
        return *ret ? 0 : -ENOMEM;
}

int btrfs_read_subvolume(int fd, uint64_t *ret) {
        struct btrfs_ioctl_get_subvol_info_args info = { 0 };

        if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info) < 0)
                return -errno;
        *ret = info.treeid;
        return 0;
}

/* These links have a name that an administrator chose and may give to another device, or are about the
 * contents. */
static bool is_of_contents(const char *name) {
        return startswith(name, "dm-name-") || startswith(name, "md-name-") || startswith(name, "lvm-pv-uuid-");
}

static bool leads_to(int dir, const char *name, dev_t device) {
        struct stat st;

        return fstatat(dir, name, &st, 0) >= 0 && S_ISBLK(st.st_mode) && st.st_rdev == device;
}

/* A device mapper's UUID is better than what its device inherits; of equals the first by name is taken. */
static bool is_better(const char *name, const char *than) {
        bool uuid = startswith(name, "dm-uuid-"), than_uuid = than && startswith(than, "dm-uuid-");

        return !than || (uuid == than_uuid ? strcmp(name, than) < 0 : uuid);
}

/* *ret stays NULL if the directory has no link to the device, or does not exist. */
static int find_link_in(const char *path, dev_t device, char **ret) {
        _cleanup_(closedirp) DIR *dir = opendir(path);
        _cleanup_free_ char *best = NULL;
        const struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                const char *name = entry->d_name;

                if (entry->d_type != DT_LNK || is_of_contents(name) || !text_is_clean(name) ||
                    !is_better(name, best) || !leads_to(dirfd(dir), name, device))
                        continue;
                if (free_and_strdup(&best, name) < 0)
                        return -ENOMEM;
        }
        if (!best)
                return 0;
        *ret = strdup_printf("%s/%s", path, best);
        return *ret ? 0 : -ENOMEM;
}

int device_find_link(dev_t device, char **ret) {
        int r;

        *ret = NULL;
        if (major(device) == 0)
                return 0;
        r = find_link_in("/dev/disk/by-id", device, ret);
        return r < 0 || *ret ? r : find_link_in("/dev/disk/by-partuuid", device, ret);
}

static int read_device(int dir, const char *name, dev_t *ret) {
        _cleanup_free_ char *attribute = strdup_printf("%s/dev", name);
        _cleanup_close_ int fd = -EBADF;
        char text[32];
        ssize_t n;

        if (!attribute)
                return -ENOMEM;
        fd = openat(dir, attribute, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        n = read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return n < 0 ? -errno : -EIO;
        text[n - 1] = '\0';
        return device_parse(text, ret);
}

/* Whether an entry of a directory of sysfs is one of a partition table. */
static bool is_partition(int dir, const struct dirent *entry) {
        _cleanup_free_ char *attribute = NULL;

        /* A disk has some twenty attributes, which are files, and links. */
        if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
                return false;
        attribute = strdup_printf("%s/partition", entry->d_name);
        return attribute && faccessat(dir, attribute, F_OK, 0) >= 0;
}

int device_append(dev_t **devices, size_t *n, dev_t device) {
        dev_t *grown = reallocarray(*devices, *n + 1, sizeof(dev_t));

        if (!grown)
                return -ENOMEM;
        *devices = grown;
        grown[(*n)++] = device;
        return 0;
}

/* Reads all devices of a directory of sysfs that has them or links to them. */
static int read_devices(int parent, const char *path, bool partitions, dev_t **ret, size_t *ret_n) {
        _cleanup_(closedirp) DIR *dir = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_close_ int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *entry;
        size_t n = 0;

        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir)
                return -ENOMEM;
        TAKE_FD(fd);

        while ((errno = 0, entry = readdir(dir))) {
                dev_t device = 0;
                int r;

                if (entry->d_name[0] == '.' || (partitions && !is_partition(dirfd(dir), entry)))
                        continue;
                r = read_device(dirfd(dir), entry->d_name, &device);
                if (r == -ENOENT)
                        continue;
                if (r < 0)
                        return r;
                if (n == DEVICES_MAX)
                        return -E2BIG;
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

int host_find_btrfs_devices(const char *uuid, dev_t **ret, size_t *ret_n) {
        _cleanup_free_ char *path = strdup_printf("/sys/fs/btrfs/%s/devices", uuid);

        return path ? read_devices(AT_FDCWD, path, false, ret, ret_n) : -ENOMEM;
}

static char *sysfs_path(dev_t device, const char *name) {
        return strdup_printf("/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
}

int device_find_holders(dev_t device, dev_t **ret, size_t *ret_n) {
        _cleanup_free_ char *path = sysfs_path(device, "holders");
        int r;

        if (!path)
                return -ENOMEM;
        *ret_n = 0;
        r = read_devices(AT_FDCWD, path, false, ret, ret_n);
        return r == -ENOENT ? 0 : r;
}

/* Adds those that are not there yet. */
static int add_devices(const dev_t *more, size_t n_more, dev_t **devices, size_t *n) {
        for (size_t i = 0; i < n_more; i++) {
                int r = device_is_among(more[i], *devices, *n) ? 0 : device_append(devices, n, more[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Adds all that lies on the devices: volume groups, RAIDs, encrypted devices, btrfs of several devices. */
static int add_holders(dev_t **devices, size_t *n) {
        size_t layer = 0;

        for (unsigned depth = 0; depth < LAYERS_MAX && layer < *n; depth++) {
                const size_t end = *n;

                for (; layer < end; layer++) {
                        _cleanup_free_ dev_t *holders = NULL, *siblings = NULL;
                        size_t n_holders = 0, n_siblings = 0;
                        int r;

                        r = device_find_holders((*devices)[layer], &holders, &n_holders);
                        if (r < 0)
                                return r;
                        r = add_devices(holders, n_holders, devices, n);
                        if (r < 0)
                                return r;
                        r = host_find_siblings((*devices)[layer], &siblings, &n_siblings);
                        if (r < 0)
                                return r;
                        r = add_devices(siblings, n_siblings, devices, n);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int device_find_disk(dev_t device, dev_t *ret) {
        _cleanup_free_ char *own = sysfs_path(device, "partition"), *disk = sysfs_path(device, "..");

        if (!own || !disk)
                return -ENOMEM;
        if (access(own, F_OK) >= 0)
                return read_device(AT_FDCWD, disk, ret);
        if (errno != ENOENT)
                return -errno;
        *ret = device;
        return 0;
}

int device_find_entries(dev_t device, dev_t *ret_disk, dev_t **ret, size_t *ret_n) {
        _cleanup_free_ char *own = sysfs_path(device, ""), *disk = sysfs_path(device, "..");
        _cleanup_free_ dev_t *entries = NULL, *others = NULL;
        size_t n = 0, n_others = 0;
        int r;

        if (!own || !disk)
                return -ENOMEM;
        r = device_find_disk(device, ret_disk);
        if (r >= 0)
                r = read_devices(AT_FDCWD, *ret_disk == device ? own : disk, true, &entries, &n);
        /* A device without a table, and one of the device mapper, has no such directory or no entries. */
        if (r == -ENOENT)
                return 0;
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (entries[i] != device)
                        r = add_devices(&entries[i], 1, &others, &n_others);
        if (r < 0)
                return r;
        r = add_holders(&others, &n_others);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(others);
        *ret_n = n_others;
        return n > 0;
}

/* Finds the mounted btrfs that a device is part of: the UUID, as in /sys/fs/btrfs, and all its devices.
 * Returns 1, 0 if there is none, or a negative errno. */
static int device_find_btrfs(dev_t device, char **ret_uuid, dev_t **ret, size_t *ret_n) {
        _cleanup_(closedirp) DIR *dir = opendir("/sys/fs/btrfs");
        struct dirent *entry;

        if (!dir)
                return errno == ENOENT ? 0 : -errno;

        while ((entry = readdir(dir))) {
                _cleanup_free_ char *path = strdup_printf("%s/devices", entry->d_name);
                _cleanup_free_ dev_t *devices = NULL;
                size_t n = 0;
                int r;

                if (!path)
                        return -ENOMEM;
                if (entry->d_name[0] == '.')
                        continue;
                r = read_devices(dirfd(dir), path, false, &devices, &n);
                if (r == -ENOENT || r == -ENOTDIR)
                        continue;
                if (r < 0)
                        return r;
                if (!device_is_among(device, devices, n))
                        continue;
                *ret_uuid = strdup(entry->d_name);
                if (!*ret_uuid)
                        return -ENOMEM;
                *ret = TAKE_PTR(devices);
                *ret_n = n;
                return 1;
        }
        return 0;
}

int host_find_siblings(dev_t device, dev_t **ret, size_t *ret_n) {
        _cleanup_free_ char *uuid = NULL;
        int r;

        assert(ret && ret_n);

        r = device_find_btrfs(device, &uuid, ret, ret_n);
        if (r != 0)
                return r < 0 ? r : 0;
        *ret = malloc(sizeof(dev_t));
        if (!*ret)
                return -ENOMEM;
        **ret = device;
        *ret_n = 1;
        return 0;
}

/* Whether the mount is of a btrfs, by the mount table alone. */
static int is_btrfs_mount(uint64_t id) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read_mount(NULL, id, &table);
        return r == -ENOENT ? 0 : r < 0 ? r : streq(table->mounts[0].fs_type, "btrfs");
}

/* btrfs has an anonymous device number, so a btrfs is compared by UUID if the device belongs to one. Other
 * file systems, such as NFS or FUSE, are not opened: their server might not answer. */
static int path_is_on_device(const char *path, dev_t device, const char *btrfs_uuid) {
        _cleanup_free_ char *uuid = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct statx sx = { 0 };
        int r;

        if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &sx) < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
        if (makedev(sx.stx_dev_major, sx.stx_dev_minor) == device)
                return 1;
        if (!btrfs_uuid || sx.stx_dev_major != 0 || !S_ISDIR(sx.stx_mode))
                return 0;
        r = is_btrfs_mount(sx.stx_mnt_id);
        if (r <= 0)
                return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = btrfs_read_uuid(fd, &uuid);
        return r < 0 ? r : streq_ptr(uuid, btrfs_uuid);
}

static int host_uses(const Settings *settings, dev_t device, const char *btrfs_uuid) {
        static const char *const paths[] = {
                "/",    "/usr", "/etc", "/var",  "/var/lib", "/var/log", "/home",     "/root",
                "/opt", "/srv", "/tmp", "/boot", "/efi",     "/var/tmp", "/boot/efi",
        };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                r = path_is_on_device(paths[i], device, btrfs_uuid);
                if (r != 0)
                        return r;
        }
        STRV_FOREACH (root, settings->target_roots) {
                r = path_is_on_device(*root, device, btrfs_uuid);
                if (r != 0)
                        return r;
        }
        return 0;
}

int host_uses_device(const Settings *settings, dev_t device) {
        _cleanup_free_ char *uuid = NULL;
        _cleanup_free_ dev_t *siblings = NULL;
        size_t n = 0;
        int r;

        assert(settings);

        r = device_find_btrfs(device, &uuid, &siblings, &n);
        return r < 0 ? r : host_uses(settings, device, uuid);
}

int host_uses_file_system(const Settings *settings, int fd) {
        _cleanup_free_ char *uuid = NULL;
        struct stat st;
        int r;

        assert(settings);
        assert(fd >= 0);

        if (fstat(fd, &st) < 0)
                return -errno;
        r = btrfs_read_uuid(fd, &uuid);
        return r < 0 ? r : host_uses(settings, st.st_dev, uuid);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "basic/path-util.h"
#include "mount/device.h"
#include "mount/image.h"
#include "mount/loop-device.h"
#include "mount/mount-table.h"
#include "mount/on-disk.h"
#include "mount/superblock.h"

static int name_btrfs(const char *uuid, char **ret) {
        *ret = strdup_printf("btrfs:%s", uuid);
        return *ret ? 0 : -ENOMEM;
}

/* Names an image, or a device, which may be a loop device over an image. Uses only the device or image of
 * s. */
static int name_disk(const Source *s, char **ret) {
        dev_t image_device = s->image_device;
        ino_t image_inode = s->image_inode;
        int r = 1;

        if (!s->is_image)
                r = loop_find_image(s->device, &image_device, &image_inode);
        if (r < 0)
                return r;
        *ret = r > 0 ? strdup_printf("image:%u:%u:%llu", major(image_device), minor(image_device),
                                     (unsigned long long) image_inode)
                     : strdup_printf("device:%u:%u", major(s->device), minor(s->device));
        return *ret ? 0 : -ENOMEM;
}

int superblock_name_source(const Source *s, char **ret) {
        *ret = NULL;
        return s->fs->source == SOURCE_BLOCK ? name_disk(s, ret) : 0;
}

int source_is_same_disk(const Source *a, const Source *b) {
        _cleanup_free_ char *one = NULL, *other = NULL;
        int r;

        r = name_disk(a, &one);
        if (r < 0)
                return r;
        r = name_disk(b, &other);
        return r < 0 ? r : streq(one, other);
}

int superblock_name_mounted(int fd, dev_t device, char **ret) {
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_free_ char *uuid = NULL;
        size_t n;
        int r;

        *ret = NULL;
        if (major(device) != 0)
                return name_disk(&(Source){ .device = device }, ret);
        r = btrfs_read_uuid(fd, &uuid);
        if (r < 0 || !uuid)
                return r;
        /* sysfs has the UUID that Linux 6.7 gives to a copy for as long as it is mounted. */
        r = host_find_btrfs_devices(uuid, &devices, &n);
        if (r < 0)
                return r;
        return n == 1 ? name_disk(&(Source){ .device = devices[0] }, ret) : name_btrfs(uuid, ret);
}

int superblock_find_copy(const Source *s, char **ret_target) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        const Identity identity = source_identify(s, -EBADF);
        int r;

        *ret_target = NULL;
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++) {
                _cleanup_close_ int fd = -EBADF;
                struct stat st;
                Identity other;

                if (!streq(m->fs_type, s->fs->name) || stat(m->source, &st) < 0 || !S_ISBLK(st.st_mode) ||
                    st.st_rdev == s->device)
                        continue;
                fd = open(m->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
                if (fd < 0)
                        continue;
                other = identity_read(fd, m->fs_type);
                if (!identity_equal(&other, &identity))
                        continue;
                *ret_target = string_escape(m->target, 200);
                return *ret_target ? 0 : -ENOMEM;
        }
        return 0;
}

enum { ONE_ATTEMPT = 1, ATTEMPTS = 5, ATTEMPT_USEC = 20000 };

/* Opening with O_EXCL fails exactly if the device is mounted or otherwise claimed, in any mount namespace
 * (open(2)). Returns 1 if it is claimed at each attempt, 0 if not, or a negative errno. */
static int is_claimed(int fd, unsigned attempts) {
        for (unsigned i = 1;; i++) {
                _cleanup_close_ int again = open_again(fd, O_RDONLY | O_EXCL);

                if (again >= 0)
                        return 0;
                if (again != -EBUSY)
                        return again;
                if (i == attempts)
                        return 1;
                usleep(ATTEMPT_USEC);
        }
}

static int find_devices(const Source *s, dev_t **ret, size_t *ret_n) {
        int r;

        if (s->is_image)
                return loop_find(s->image_device, s->image_inode, s->path, ret, ret_n);
        r = is_claimed(s->fd, ONE_ATTEMPT);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }
        return host_find_siblings(s->device, ret, ret_n);
}

static int find_claim(const Source *s, unsigned attempts) {
        _cleanup_free_ dev_t *devices = NULL;
        size_t n = 0;
        int r;

        assert(s && s->fs);

        if (s->fs->source != SOURCE_BLOCK)
                return 0;
        if (!s->is_image)
                return is_claimed(s->fd, attempts);
        r = loop_find(s->image_device, s->image_inode, s->path, &devices, &n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;

                r = loop_open(devices[i], s->image_device, s->image_inode, &fd, &path, NULL);
                if (r > 0)
                        r = is_claimed(fd, attempts);
        }
        return r;
}

int source_is_claimed(const Source *s) {
        return find_claim(s, ONE_ATTEMPT);
}

int source_is_claimed_for_long(const Source *s) {
        return find_claim(s, ATTEMPTS);
}

int device_is_claimed_for_long(int fd) {
        return is_claimed(fd, ATTEMPTS);
}

/* Drops loop devices that were attached to another image since they were found, and may be mounted as
 * that. */
static int drop_reused(const Source *s, dev_t *devices, size_t *n) {
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;
                int r;

                r = loop_open(devices[i], s->image_device, s->image_inode, &fd, &path, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        devices[kept++] = devices[i];
        }
        *n = kept;
        return 0;
}

int source_find_mounts(const Source *s, MountFact **ret, size_t *ret_n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        size_t n = 0;
        int r;

        assert(s && s->fs);
        assert(ret && ret_n);

        if (s->fs->source == SOURCE_BLOCK) {
                r = find_devices(s, &devices, &n);
                if (r < 0)
                        return r;
        }
        if (n == 0) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        if (s->is_image) {
                r = drop_reused(s, devices, &n);
                if (r < 0)
                        return r;
        }
        return mount_table_find_devices(table, devices, n, ret, ret_n);
}

int source_is_mounted_as(const Source *s, const MountFact *fact) {
        _cleanup_free_ dev_t *devices = NULL;
        size_t n;
        int r;

        assert(s && s->fs);
        assert(fact);

        if (s->fs->source == SOURCE_NONE && !streq(fact->fs_type, s->fs->name))
                return 0;
        if (s->fs->source != SOURCE_BLOCK)
                return streq(fact->source, s->path);

        r = find_devices(s, &devices, &n);
        if (r < 0)
                return r;
        return mount_fact_is_of_devices(fact, devices, n);
}

Fingerprint source_read_fingerprint(const Source *s) {
        return s->fs->source == SOURCE_BLOCK ? fingerprint_read(s->fd, s->fs->name) : (Fingerprint){ 0 };
}

Fingerprint source_take_fingerprint(const Source *s) {
        return s->fs->source == SOURCE_BLOCK && source_is_claimed_for_long(s) == 0 ? source_read_fingerprint(s)
                                                                                   : (Fingerprint){ 0 };
}

/* For btrfs the device number in the mount table is not that of a disk. */
static int find_mounted_device(int root, const MountFact *fact, dev_t *ret) {
        _cleanup_free_ dev_t *devices = NULL;
        _cleanup_free_ char *uuid = NULL;
        size_t n = 0;
        int r;

        r = btrfs_read_uuid(root, &uuid);
        if (r < 0)
                return r;
        if (!uuid)
                return device_parse(fact->device, ret);
        r = host_find_btrfs_devices(uuid, &devices, &n);
        if (r < 0)
                return r;
        if (n != 1)
                return -ENODEV;
        *ret = devices[0];
        return 0;
}

/* Opens the path if it is a block device; device: the one that it has to be, 0: any. */
static int open_block_device(const char *path, dev_t device) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) || (device != 0 && st.st_rdev != device))
                return -ENODEV;
        return TAKE_FD(fd);
}

static int open_numbered_device(dev_t device) {
        char link[sizeof("/dev/block/4294967295:4294967295")];

        (void) snprintf(link, sizeof(link), "/dev/block/%u:%u", major(device), minor(device));
        return open_block_device(link, device);
}

/* Opens the block device of a mount, by its number; without udev by the name in the mount table. */
static int open_mounted_device(int root, const MountFact *fact) {
        dev_t device = 0;
        int fd, r;

        r = find_mounted_device(root, fact, &device);
        if (r < 0)
                return r;
        if (major(device) == 0)
                return -ENODEV;
        fd = open_numbered_device(device);
        return fd >= 0 ? fd : open_block_device(fact->source, device);
}

int superblock_open_device(uint64_t mount_id, const char *device) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        dev_t number;
        int fd, r;

        r = device_parse(device, &number);
        if (r < 0)
                return r;
        fd = major(number) != 0 ? open_numbered_device(number) : -ENODEV;
        if (fd >= 0)
                return fd;
        /* The number of btrfs is anonymous, and without udev there are no links. */
        r = mount_table_read_mount(NULL, mount_id, &table);
        if (r < 0)
                return r;
        return open_block_device(table->mounts[0].source, major(number) != 0 ? number : 0);
}

Fingerprint superblock_read_fingerprint(int fd, const MountFact *fact) {
        _cleanup_close_ int device = open_mounted_device(fd, fact);

        return device < 0 ? (Fingerprint){ 0 } : fingerprint_read(device, fact->fs_type);
}

/* --- the identity --- */

/* device: open for reading. */
static Identity device_identify(int device, const char *fs_type, int root) {
        const Identity disk = identity_read(device, fs_type);
        _cleanup_free_ char *part = NULL, *uuid = NULL;
        uint64_t subvolume;

        if (root < 0 || !streq(fs_type, "btrfs") || !identity_is_known(&disk))
                return disk;
        uuid = identity_uuid(&disk);
        if (!uuid || btrfs_read_subvolume(root, &subvolume) < 0)
                return (Identity){ 0 };
        part = strdup_printf("%" PRIu64, subvolume);
        return part ? identity_make(fs_type, uuid, part) : (Identity){ 0 };
}

static bool is_nfs(const char *fs_type) {
        return streq(fs_type_family(fs_type), "nfs");
}

Identity source_identify(const Source *s, int root) {
        if (s->fs->source == SOURCE_BLOCK)
                return device_identify(s->fd, s->fs->name, root);
        return is_nfs(s->fs->name) ? identity_make(s->fs->name, s->path, NULL) : (Identity){ 0 };
}

Identity superblock_identify(int root, const MountFact *fact) {
        _cleanup_close_ int device = -EBADF;

        if (is_nfs(fact->fs_type))
                return identity_make(fact->fs_type, fact->source, NULL);
        device = open_mounted_device(root, fact);
        return device < 0 ? (Identity){ 0 } : device_identify(device, fact->fs_type, root);
}

Identity superblock_identify_for_mark(int root) {
        struct statfs sfs;
        char number[40];
        uint64_t id;

        if (fstatfs(root, &sfs) < 0)
                return (Identity){ 0 };
        static_assert(sizeof(sfs.f_fsid) == sizeof(id), "f_fsid has 64 bits");
        memcpy(&id, &sfs.f_fsid, sizeof(id));
        (void) snprintf(number, sizeof(number), "%016" PRIx64, id);
        return id == 0 ? (Identity){ 0 } : identity_make("fsid", number, NULL);
}

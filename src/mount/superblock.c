/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "mount/loop.h"
#include "mount/superblock.h"

/* btrfs' superblock on disk: where it is, and in it the UUID and the magic number. */
enum {
        BTRFS_OFFSET = 64 * 1024,
        BTRFS_UUID_OFFSET = 0x20,
        BTRFS_MAGIC_OFFSET = 0x40,
        BTRFS_HEAD_SIZE = 0x48,
        UUID_SIZE = 16,
};
static const char btrfs_magic[] = "_BHRfS_M";

static char *format_uuid(const uint8_t uuid[UUID_SIZE]) {
        char text[2 * UUID_SIZE + 4 + 1], *p = text;

        for (size_t i = 0; i < UUID_SIZE; i++)
                p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
        return strdup(text);
}

int superblock_read_btrfs_uuid(int fd, char **ret) {
        struct btrfs_ioctl_fs_info_args info = { 0 };
        struct statfs sfs;
        char *uuid;

        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        /* What others make of an ioctl is theirs, in user space for instance. */
        if (sfs.f_type != BTRFS_SUPER_MAGIC) {
                *ret = NULL;
                return 0;
        }
        if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
                return -errno;
        uuid = format_uuid(info.fsid);
        if (!uuid)
                return -ENOMEM;
        *ret = uuid;
        return 0;
}

/* The same of a device or an image that may not be mounted. */
static int read_uuid_on_disk(int fd, char **ret) {
        uint8_t head[BTRFS_HEAD_SIZE];
        ssize_t n;

        n = pread(fd, head, sizeof(head), BTRFS_OFFSET);
        if (n < 0)
                return -errno;
        *ret = NULL;
        if (n < BTRFS_HEAD_SIZE || memcmp(head + BTRFS_MAGIC_OFFSET, btrfs_magic, strlen(btrfs_magic)) != 0)
                return 0;
        *ret = format_uuid(head + BTRFS_UUID_OFFSET);
        return *ret ? 0 : -ENOMEM;
}

static int name_btrfs(const char *uuid, char **ret) {
        *ret = strdup_printf("btrfs:%s", uuid);
        return *ret ? 0 : -ENOMEM;
}

static int name_image(dev_t device, ino_t inode, char **ret) {
        *ret = strdup_printf("image:%u:%u:%llu", major(device), minor(device), (unsigned long long) inode);
        return *ret ? 0 : -ENOMEM;
}

static int name_device(dev_t device, char **ret) {
        dev_t image_device;
        ino_t image_inode;
        int r;

        r = loop_find_image(device, &image_device, &image_inode);
        if (r < 0)
                return r;
        if (r > 0)
                return name_image(image_device, image_inode, ret);
        *ret = strdup_printf("device:%u:%u", major(device), minor(device));
        return *ret ? 0 : -ENOMEM;
}

int superblock_name_source(const Source *s, char **ret) {
        _cleanup_free_ char *uuid = NULL;
        int r;

        if (s->fs->source != SOURCE_BLOCK) {
                *ret = NULL;
                return 0;
        }
        if (streq(s->fs->name, "btrfs")) {
                r = read_uuid_on_disk(s->fd, &uuid);
                if (r < 0)
                        return r;
        }
        if (uuid)
                return name_btrfs(uuid, ret);
        return s->is_image ? name_image(s->image_device, s->image_inode, ret) : name_device(s->device, ret);
}

int superblock_name_mounted(int fd, dev_t device, char **ret) {
        _cleanup_free_ char *uuid = NULL;
        int r;

        if (major(device) != 0)
                return name_device(device, ret);
        r = superblock_read_btrfs_uuid(fd, &uuid);
        if (r < 0)
                return r;
        if (uuid)
                return name_btrfs(uuid, ret);
        *ret = NULL;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mount/btrfs.h"

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

int btrfs_read_uuid(int fd, char **ret) {
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

int btrfs_read_uuid_on_disk(int fd, char **ret) {
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

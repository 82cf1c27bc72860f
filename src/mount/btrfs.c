/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mount/btrfs.h"
#include "mount/uuid.h"

/* btrfs' superblock on disk: where it is, and in it the UUID and the magic number. */
enum {
        BTRFS_OFFSET = 64 * 1024,
        BTRFS_UUID_OFFSET = 0x20,
        BTRFS_MAGIC_OFFSET = 0x40,
        BTRFS_HEAD_SIZE = 0x48,
};
static const char btrfs_magic[] = "_BHRfS_M";

static char *duplicate_uuid(const uint8_t uuid[static UUID_SIZE]) {
        char text[UUID_TEXT_SIZE];

        return strdup(uuid_format(uuid, text));
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
        uuid = duplicate_uuid(info.fsid);
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
        *ret = duplicate_uuid(head + BTRFS_UUID_OFFSET);
        return *ret ? 0 : -ENOMEM;
}

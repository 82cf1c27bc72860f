/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <endian.h>
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

/* btrfs' superblock on disk: where it is, and in it the UUID, the magic number and the number of devices. */
enum {
        BTRFS_OFFSET = 64 * 1024,
        BTRFS_UUID_OFFSET = 0x20,
        BTRFS_MAGIC_OFFSET = 0x40,
        BTRFS_DEVICES_OFFSET = 0x88,
        BTRFS_HEAD_SIZE = 0x90,
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

/* Returns 1, 0 if it is no btrfs, or a negative errno. */
static int read_head(int fd, uint8_t ret[static BTRFS_HEAD_SIZE]) {
        ssize_t n = pread(fd, ret, BTRFS_HEAD_SIZE, BTRFS_OFFSET);

        if (n < 0)
                return -errno;
        return n == BTRFS_HEAD_SIZE && memcmp(ret + BTRFS_MAGIC_OFFSET, btrfs_magic, strlen(btrfs_magic)) == 0;
}

int btrfs_read_uuid_on_disk(int fd, char **ret) {
        uint8_t head[BTRFS_HEAD_SIZE];
        int r;

        r = read_head(fd, head);
        if (r < 0)
                return r;
        *ret = r > 0 ? duplicate_uuid(head + BTRFS_UUID_OFFSET) : NULL;
        return r > 0 && !*ret ? -ENOMEM : 0;
}

int btrfs_count_devices_on_disk(int fd, uint64_t *ret) {
        uint8_t head[BTRFS_HEAD_SIZE];
        uint64_t n = 0;
        int r;

        r = read_head(fd, head);
        if (r < 0)
                return r;
        if (r > 0)
                memcpy(&n, head + BTRFS_DEVICES_OFFSET, sizeof(n));
        *ret = le64toh(n);
        return 0;
}

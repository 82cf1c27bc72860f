/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/sysmacros.h>

#include "mount/btrfs.h"
#include "mount/loop.h"
#include "mount/superblock.h"

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
                r = btrfs_read_uuid_on_disk(s->fd, &uuid);
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
        r = btrfs_read_uuid(fd, &uuid);
        if (r < 0)
                return r;
        if (uuid)
                return name_btrfs(uuid, ret);
        *ret = NULL;
        return 0;
}

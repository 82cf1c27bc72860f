/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "mount/mount-id.h"

enum {
        FLAGS = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
        MASK_MNT_ID_UNIQUE = 0x4000, /* STATX_MNT_ID_UNIQUE, which the headers of Linux 6.1 lack */
};

int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) {
        struct statx sx = { 0 };

        assert(fd >= 0);
        assert(ret_mount_id);

        if (statx(fd, "", FLAGS, STATX_MNT_ID, &sx) < 0)
                return -errno;
        if (!(sx.stx_mask & STATX_MNT_ID))
                return -EOPNOTSUPP;
        *ret_mount_id = sx.stx_mnt_id;
        if (ret_is_mount)
                *ret_is_mount = sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
        return 0;
}

int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) {
        struct statx sx = { 0 };
        int r;

        assert(ret_mount_id && ret_unique_id);

        r = mount_identify(fd, ret_mount_id, NULL);
        if (r < 0)
                return r;
        if (statx(fd, "", FLAGS, MASK_MNT_ID_UNIQUE, &sx) < 0)
                return -errno;
        *ret_unique_id = sx.stx_mask & MASK_MNT_ID_UNIQUE ? sx.stx_mnt_id : 0;
        return 0;
}

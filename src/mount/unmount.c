/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mount/mount-table.h"
#include "mount/target.h"
#include "mount/unmount.h"

/* Through a descriptor of the parent, so that no part of the path can be exchanged: umount2(2) itself takes no
 * descriptor. */
static int unmount_in(int parent, const char *name) {
        int r;

        if (fchdir(parent) < 0)
                return -errno;
        r = umount2(name, UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
        if (chdir("/") < 0)
                return -errno;
        return r;
}

/* The id of the mount that name is the root of; 0 if it is the root of none. A descriptor of the mount would keep it busy.
 */
static int find_mount(int parent, const char *name, uint64_t *ret) {
        struct statx sx = { 0 };

        if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &sx) < 0)
                return -errno;
        *ret = sx.stx_attributes & STATX_ATTR_MOUNT_ROOT ? sx.stx_mnt_id : 0;
        return 0;
}

static int is_of_device(uint64_t mount_id, const char *device) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        r = mount_table_read_mount(NULL, mount_id, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, mount_id, &fact, NULL);
        return r < 0 ? r : streq(fact.device, device);
}

/* Returns 1 if the mount is there, 0 or -ENOENT if not, or another negative errno. */
static int mount_is_there(int parent, const char *name, uint64_t mount_id, const char *device) {
        uint64_t found = 0;
        int r;

        r = find_mount(parent, name, &found);
        if (r < 0)
                return r;
        if (found == 0 || (mount_id != 0 && mount_id != found))
                return 0;
        return isempty(device) ? 1 : is_of_device(found, device);
}

int unmount_target(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                   bool *ret_unmounted, Failure *f) {
        _cleanup_close_ int parent = -EBADF;
        _cleanup_free_ char *escaped = NULL;
        const char *name;
        int r;

        r = target_open_parent(path, settings, &parent, &name, f);
        if (r > 0 || (r < 0 && r != -ENOENT))
                return r;
        if (r == 0)
                r = mount_is_there(parent, name, mount_id, device);
        if (r == 0 || r == -ENOENT) {
                *ret_unmounted = false;
                return 0;
        }
        if (r > 0)
                r = unmount_in(parent, name);

        escaped = string_escape(path, 200);
        if (!escaped)
                return -ENOMEM;
        switch (r) {
        case 0:
                *ret_unmounted = true;
                return 0;
        case -EINVAL:
        case -ENOENT:
                /* Somebody else was faster. */
                *ret_unmounted = false;
                return 0;
        case -EBUSY:
                return failure_set(
                        f, FAILURE_BUSY,
                        "The mount at '%s' is in use: find out by whom with fuser -vm or lsof, or see whether something is mounted beneath it.",
                        escaped);
        default:
                return r;
        }
}

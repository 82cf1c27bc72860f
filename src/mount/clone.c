/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "mount/clone.h"
#include "mount/mount-table.h"
#include "mount/target.h"

enum { BTRFS_SUBVOLUME_INODE = 256 };

static void clone_done(Clone *c) {
        c->root = fd_close(c->root);
        c->tree = fd_close(c->tree);
}

static int set_mode(int tree, CloneMode mode) {
        struct mount_attr attr = {
                .attr_set = MOUNT_ATTR_NOATIME | (mode == CLONE_READ_ONLY ? MOUNT_ATTR_RDONLY : 0),
                .attr_clr = MOUNT_ATTR__ATIME | (mode == CLONE_WRITABLE ? MOUNT_ATTR_RDONLY : 0),
        };

        return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int clone_open(int fd, CloneMode mode, Clone *ret) {
        _cleanup_(clone_done) Clone c = CLONE_INIT;
        int r;

        assert(fd >= 0);
        assert(ret);

        c.tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (c.tree < 0)
                return -errno;
        r = set_mode(c.tree, mode);
        if (r < 0)
                return r;
        c.root = openat(c.tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c.root < 0)
                return -errno;

        *ret = c;
        c = CLONE_INIT;
        return 0;
}

static int is_subvolume(int fd) {
        struct statfs sfs;
        struct stat st;

        if (fstatfs(fd, &sfs) < 0 || fstat(fd, &st) < 0)
                return -errno;
        return sfs.f_type == BTRFS_SUPER_MAGIC && st.st_ino == BTRFS_SUBVOLUME_INODE;
}

/* Whether all of a file system is mounted there. */
static int is_whole(int fd, uint64_t mount_id) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ char *root = NULL;
        int r;

        r = mount_table_read_own(fd, false, &table);
        if (r < 0)
                return r;
        r = mount_table_find_root(table, mount_id, &root);
        if (r < 0)
                return r;
        return streq(root, "/");
}

int clone_root_is_part(int fd, const char *root) {
        int r;

        assert(fd >= 0);
        assert(root);

        if (streq(root, "/"))
                return 0;
        r = is_subvolume(fd);
        return r < 0 ? r : !r;
}

int clone_is_part(int fd) {
        uint64_t mount_id;
        bool is_mount;
        int r;

        assert(fd >= 0);

        r = mount_identify(fd, &mount_id, &is_mount);
        if (r < 0)
                return r;
        if (is_mount) {
                r = is_whole(fd, mount_id);
                if (r < 0)
                        return r;
                if (r > 0)
                        return 0;
        }
        r = is_subvolume(fd);
        if (r < 0)
                return r;
        return !r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "mount/detached.h"
#include "mount/mount-table.h"

enum { BTRFS_SUBVOLUME_INODE = 256 };

static int change_attributes(int tree, uint64_t flags, uint64_t cleared) {
        struct mount_attr attr = { .attr_set = flags, .attr_clr = cleared };

        return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int attributes_set(int tree, char *const *options, bool read_only) {
        /* The other options of mount_option_is_attribute() are the defaults of a mount. */
        static const struct {
                const char *option;
                uint64_t flag;
        } attributes[] = {
                { "noexec", MOUNT_ATTR_NOEXEC },           { "noatime", MOUNT_ATTR_NOATIME },
                { "strictatime", MOUNT_ATTR_STRICTATIME }, { "nodiratime", MOUNT_ATTR_NODIRATIME },
                { "nosymfollow", MOUNT_ATTR_NOSYMFOLLOW },
        };
        uint64_t flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0);

        for (size_t i = 0; i < ELEMENTSOF(attributes); i++)
                if (strv_contains(options, attributes[i].option))
                        flags |= attributes[i].flag;
        if ((flags & MOUNT_ATTR__ATIME) == MOUNT_ATTR__ATIME)
                flags &= ~(uint64_t) MOUNT_ATTR_NOATIME;
        return change_attributes(tree, flags,
                                 MOUNT_ATTR_NOEXEC | MOUNT_ATTR__ATIME | MOUNT_ATTR_NODIRATIME |
                                         MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_RDONLY);
}

int attributes_set_read_only(int tree, bool read_only) {
        assert(tree >= 0);
        return change_attributes(tree, read_only ? MOUNT_ATTR_RDONLY : 0, read_only ? 0 : MOUNT_ATTR_RDONLY);
}

static void clone_done(Clone *c) {
        c->root = fd_close(c->root);
        c->tree = fd_close(c->tree);
}

int clone_open(int fd, CloneMode mode, Clone *ret) {
        _cleanup_(clone_done) Clone c = CLONE_INIT;
        int r;

        assert(fd >= 0);
        assert(ret);

        c.tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (c.tree < 0)
                return -errno;
        r = change_attributes(c.tree, MOUNT_ATTR_NOATIME | (mode == CLONE_READ_ONLY ? MOUNT_ATTR_RDONLY : 0),
                              MOUNT_ATTR__ATIME | (mode == CLONE_WRITABLE ? MOUNT_ATTR_RDONLY : 0));
        if (r < 0)
                return r;
        c.root = openat(c.tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c.root < 0)
                return -errno;

        *ret = c;
        c = CLONE_INIT;
        return 0;
}

int clone_root_is_part(int fd, const char *root) {
        struct statfs sfs;
        struct stat st;

        assert(fd >= 0);
        assert(root);

        if (streq(root, "/"))
                return 0;
        if (fstatfs(fd, &sfs) < 0 || fstat(fd, &st) < 0)
                return -errno;
        return sfs.f_type != BTRFS_SUPER_MAGIC || st.st_ino != BTRFS_SUBVOLUME_INODE;
}

int clone_is_part(int fd) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ char *root = NULL;
        uint64_t mount_id;
        bool is_mount;
        int r;

        assert(fd >= 0);

        r = mount_identify(fd, &mount_id, &is_mount);
        if (r < 0)
                return r;
        if (is_mount) {
                r = mount_table_read_own(fd, false, &table);
                if (r < 0)
                        return r;
                r = mount_table_find_root(table, mount_id, &root);
                if (r < 0)
                        return r;
        }
        return clone_root_is_part(fd, strempty(root));
}

static int changed_failure(Failure *f, const Target *target) {
        return failure_set_about(
                f, FAILURE_INVALID_TARGET, target->path,
                "Target '%s' was replaced, removed or mounted on in the meantime: make sure that nothing else changes it and try again.");
}

/* Unmounts a published mount by its descriptor, wherever the mount is, unless it is unmounted already. The
 * descriptor keeps the mount busy, so the mount is detached and ends with the descriptor. Needs no memory: a
 * mount that stayed visible after its note is removed would belong to nobody. */
static int withdraw_mount(int tree) {
        char path[sizeof("/proc/self/fd/-2147483648")];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", tree);
        return umount2(path, MNT_DETACH) < 0 && errno != EINVAL ? -errno : 0;
}

static bool mount_is_at(int tree, uint64_t id, const char *path) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        const Mount *m;

        if (mount_table_read_own(tree, false, &table) < 0)
                return false;
        m = mountinfo_find(table, id);
        return m && streq(m->target, path);
}

int publish_mount(int tree, const Target *target, bool (*is_canceled)(void *userdata), void *userdata,
                  MountOutcome *outcome, Failure *f) {
        uint64_t id;
        int r, k;

        assert(tree >= 0);
        assert(target);
        assert(is_canceled);
        assert(outcome);

        r = free_and_strdup(&outcome->fact.target, target->path);
        if (r < 0)
                return r;
        r = mount_identify(tree, &id, NULL);
        if (r < 0)
                return r;
        r = target_is_unchanged(target);
        if (r < 0)
                return r;
        if (r == 0)
                return changed_failure(f, target);
        if (is_canceled(userdata))
                return failure_set(f, FAILURE_CANCELED, "The caller disconnected.");

        if (move_mount(tree, "", target->fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) {
                if (errno == ENOENT || errno == ENOTDIR)
                        return changed_failure(f, target);
                return errno == EACCES ? target_denial(target, f) : -errno;
        }

        /* The directory may have been moved before move_mount(2), which does not check the path; afterwards
         * only directories above can be moved. The mount may also be at the path, covered by another
         * mount. */
        r = target_leads_to(target, id);
        if (r <= 0 && !mount_is_at(tree, id, target->path)) {
                k = withdraw_mount(tree);
                if (r < 0 || k < 0)
                        return r < 0 ? r : k;
                return changed_failure(f, target);
        }
        outcome->fact.mount_id = id;
        return 0;
}

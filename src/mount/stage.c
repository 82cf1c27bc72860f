/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "mount/attach.h"
#include "mount/mount-table.h"
#include "mount/stage-namespace.h"
#include "mount/stage.h"

/* nosuid and nodev always, the rest as requested; a clone comes with the flags of what it was made from. */
static int set_attributes(int tree, char *const *options, bool read_only) {
        static const struct {
                const char *option;
                uint64_t attribute;
        } map[] = {
                { "noexec", MOUNT_ATTR_NOEXEC },           { "noatime", MOUNT_ATTR_NOATIME },
                { "strictatime", MOUNT_ATTR_STRICTATIME }, { "nodiratime", MOUNT_ATTR_NODIRATIME },
                { "nosymfollow", MOUNT_ATTR_NOSYMFOLLOW },
        };
        struct mount_attr attr = {
                .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0),
                .attr_clr = MOUNT_ATTR_NOEXEC | MOUNT_ATTR__ATIME | MOUNT_ATTR_NODIRATIME | MOUNT_ATTR_NOSYMFOLLOW |
                            MOUNT_ATTR_RDONLY,
        };

        for (size_t i = 0; i < ELEMENTSOF(map); i++)
                if (strv_contains(options, map[i].option))
                        attr.attr_set |= map[i].attribute;
        if ((attr.attr_set & MOUNT_ATTR__ATIME) == MOUNT_ATTR__ATIME)
                attr.attr_set &= ~(uint64_t) MOUNT_ATTR_NOATIME;
        return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int stage_set_read_only(int tree, bool read_only) {
        struct mount_attr attr = {
                .attr_set = read_only ? MOUNT_ATTR_RDONLY : 0,
                .attr_clr = read_only ? 0 : MOUNT_ATTR_RDONLY,
        };

        assert(tree >= 0);

        return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int detach(int fd, const char *path, int flags, int *ret) {
        int tree = open_tree(fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned) flags);

        if (tree < 0)
                return -errno;
        *ret = tree;
        return 0;
}

int stage_read_back(int fd, const char *target, MountOutcome *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        struct statfs sfs;
        uint64_t id;
        int r;

        assert(fd >= 0);
        assert(target);
        assert(ret);

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_mount(NULL, id, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, id, &o.fact, &o.superblock_read_only);
        if (r < 0)
                return r;
        r = mount_table_overrides_labels(table, id);
        if (r < 0)
                return r;
        o.overrides_labels = r > 0;
        r = mount_table_is_idmapped(table, id);
        if (r < 0)
                return r;
        o.idmapped = r > 0;
        r = free_and_strdup(&o.fact.target, target);
        if (r < 0)
                return r;
        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        o.inodes_used = sfs.f_files > sfs.f_ffree ? sfs.f_files - sfs.f_ffree : 0;

        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

/* Fills f if the superblock is mounted somewhere with another context, which the kernel's EINVAL doesn't tell.
 * Returns CONTEXT_CONFLICT, 0 if there is no such mount, or a negative errno. */
static int find_conflict(const StageSpec *spec, const MountFact *mounts, size_t n, Failure *f) {
        _cleanup_free_ char *target = NULL, *context = NULL;
        const MountFact *m = NULL;

        for (size_t i = 0; i < n && !m; i++)
                if (!streq(mounts[i].context, spec->context))
                        m = &mounts[i];
        if (!m)
                return 0;

        target = string_escape(m->target, 200);
        context = string_escape(m->context, CONTEXT_MAX);
        if (!target || !context)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_CONTEXT_CONFLICT,
                "%s is mounted at '%s' %s%s, and a file system can have one context at a time: unmount it there first.",
                spec->source->name, target, isempty(context) ? "without a context" : "with context ", context);
}

/* The superblock existed already and kept its context: btrfs may ignore the one that is passed without an error. */
static int shared_failure(const StageSpec *spec, const MountFact *fact, Failure *f) {
        _cleanup_free_ char *context = string_escape(fact->context, CONTEXT_MAX);
        MountFact *mounts;
        size_t n;
        int r;

        if (!context)
                return -ENOMEM;
        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        r = find_conflict(spec, mounts, n, f);
        mount_facts_free(mounts, n);
        if (r != 0)
                return r;
        return failure_set(
                f, FAILURE_CONTEXT_CONFLICT,
                "%s is in use with context %s, perhaps in another mount namespace, and a file system can have one context at a time.",
                spec->source->name, context);
}

/* Compares what was requested with what the kernel did. libmount leaves the context out where libselinux considers
 * SELinux disabled. */
static int check_context(const StageSpec *spec, const MountFact *fact, Failure *f) {
        if (!isempty(fact->context) && !streq(fact->context, spec->context))
                return shared_failure(spec, fact, f);
        if (!isempty(spec->context) && (fact->seclabel || isempty(fact->context)))
                return failure_set(f, FAILURE_CONTEXT_DROPPED,
                                   "The kernel mounted %s without the context %s; nothing was published.",
                                   spec->source->name, spec->context);
        return 0;
}

static int check_outcome(const StageSpec *spec, const MountOutcome *o, Failure *f) {
        int r;

        r = check_context(spec, &o->fact, f);
        if (r != 0)
                return r;
        if (!spec->read_only && o->fact.read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "%s could only be mounted read-only: ask for a read-only mount, or repair the file system or device.",
                        spec->source->name);
        return 0;
}

/* In the staging namespace. From here on the mount is used by descriptor, as its directory goes with the
 * namespace. */
static int mount_and_detach(const StageSpec *spec, int *ret_tree, MountOutcome *ret, AttachError *error, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int tree = -EBADF, fd = -EBADF;
        bool is_mount;
        uint64_t id;
        int r;

        /* A slave, not private: its mounts don't propagate to the host, but unmounts on the host propagate to it.
         * Otherwise this copy would keep the devices of other volumes busy while a mount is staged. */
        if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return -errno;
        r = attach_file_system(spec, error, f);
        if (r != 0)
                return r;

        fd = open(spec->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = mount_identify(fd, &id, &is_mount);
        if (r < 0)
                return r;
        if (!is_mount)
                return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s reported success, but nothing is mounted.",
                                   spec->source->name);
        r = stage_read_back(fd, "", &o);
        if (r < 0)
                return r;
        r = detach(fd, "", AT_EMPTY_PATH, &tree);
        if (r < 0)
                return r;

        *ret_tree = TAKE_FD(tree);
        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

/* The kernel returns only EINVAL or EBUSY. Another mount of the same superblock may be the reason. */
static int explain_failure(const StageSpec *spec, const AttachError *error, Failure *f) {
        _cleanup_free_ char *target = NULL;
        MountFact *mounts;
        size_t n;
        int r;

        if (error->number != EINVAL && error->number != EBUSY)
                return 0;
        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        r = find_conflict(spec, mounts, n, f);
        if (n > 0)
                target = string_escape(mounts[0].target, 200);
        mount_facts_free(mounts, n);
        if (r != 0 || n == 0)
                return r;
        if (!target)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "%s is mounted at '%s' with other options and can't also be mounted %s (%s): unmount it there first.",
                spec->source->name, target, spec->read_only ? "read-only" : "read-write",
                strerrorname_np(error->number));
}

/* A superblock that is mounted read-write can't be mounted read-only: only the new mount can be. */
static int is_mounted_writable(const StageSpec *spec) {
        bool writable = false;
        MountFact *mounts;
        size_t n;
        int r;

        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                writable = writable || !mounts[i].superblock_read_only;
        mount_facts_free(mounts, n);
        return writable;
}

int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        StageSpec superblock = *spec;
        _cleanup_close_ int host = -EBADF, tree = -EBADF;
        AttachError error = { 0 };
        int r, k;

        assert(spec && spec->source);
        assert(ret_tree && ret);

        if (spec->read_only) {
                r = is_mounted_writable(spec);
                if (r < 0)
                        return r;
                superblock.read_only = r == 0;
        }
        /* mount.nfs(8) and its like may want anything of the host. */
        r = stage_namespace_enter(attach_uses_helper(spec->source->fs->name) ? -EBADF : spec->namespace, &host);
        if (r < 0)
                return r;
        r = mount_and_detach(&superblock, &tree, &o, &error, f);
        k = stage_namespace_leave(host);
        if (k < 0)
                return k;
        if (r < 0)
                return r;
        if (r > 0) {
                k = explain_failure(spec, &error, f);
                return k != 0 ? k : r;
        }

        r = check_outcome(spec, &o, f);
        if (r != 0)
                return r;
        r = set_attributes(tree, spec->options, spec->read_only);
        if (r < 0)
                return r;
        o.fact.read_only = o.fact.read_only || spec->read_only;

        *ret_tree = TAKE_FD(tree);
        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

/* fspick(2) changes this flag alone; mount(2) with MS_REMOUNT would reset the others. */
static int make_superblock_writable(int tree) {
        _cleanup_close_ int fs = fspick(tree, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

        if (fs < 0)
                return -errno;
        if (fsconfig(fs, FSCONFIG_SET_FLAG, "rw", NULL, 0) < 0 ||
            fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
                return -errno;
        return 0;
}

static int check_share(const StageSpec *spec, const Target *share, const MountFact *fact, Failure *f) {
        _cleanup_free_ char *path = string_escape(share->path, 200),
                            *context = string_escape(fact->context, CONTEXT_MAX);
        int r;

        if (!path || !context)
                return -ENOMEM;
        r = source_is_mounted_as(spec->source, fact);
        if (r < 0)
                return r;
        if (r == 0)
                return failure_set(f, FAILURE_INCOMPATIBLE, "The mount at '%s' is not of %s.", path,
                                   spec->source->name);
        if (!streq_ptr(fact->context, spec->context))
                return failure_set(
                        f, FAILURE_CONTEXT_CONFLICT,
                        "The mount at '%s' has context '%s', not '%s', and a file system can have one at a time: unmount it there first.",
                        path, context, spec->context);
        return 0;
}

static int open_for_writing(const StageSpec *spec, int tree, MountOutcome *o, Failure *f) {
        int r;

        if (spec->read_only || !o->superblock_read_only)
                return 0;
        r = make_superblock_writable(tree);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "%s is mounted read-only and can't be made writable (%s): unmount it everywhere first.",
                        spec->source->name, strerrorname_np(-r));
        o->superblock_read_only = false;
        return 0;
}

int stage_clone(const StageSpec *spec, const Target *share, uint64_t share_id, int *ret_tree, MountOutcome *ret,
                Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int tree = -EBADF;
        int r;

        assert(spec && spec->source);
        assert(share);
        assert(ret_tree && ret);

        if (!share->is_mount || share->mount_id != share_id)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "The mount that was to be shared is gone or was replaced by another one: try again.");
        r = stage_read_back(share->fd, "", &o);
        if (r < 0)
                return r;
        r = check_share(spec, share, &o.fact, f);
        if (r != 0)
                return r;

        r = detach(share->fd, "", AT_EMPTY_PATH, &tree);
        if (r < 0)
                return r;
        r = open_for_writing(spec, tree, &o, f);
        if (r != 0)
                return r;
        r = set_attributes(tree, spec->options, spec->read_only);
        if (r < 0)
                return r;
        o.fact.read_only = spec->read_only || o.superblock_read_only;

        *ret_tree = TAKE_FD(tree);
        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

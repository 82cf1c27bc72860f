/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "model/limits.h"
#include "mount/detached.h"
#include "mount/image.h"
#include "mount/mount-note.h"
#include "mount/mount-state.h"
#include "mount/stage-namespace.h"
#include "mount/stage.h"
#include "mount/superblock.h"

/* Called in the staging namespace: mounts the source, or the loop device over it, or attaches a detached
 * mount; reads the mount table, and clones the mount, because the staging directory ends with the
 * namespace. */
static int attach_and_detach(const StageSpec *spec, const char *loop, int tree, int *ret_tree, MountOutcome *ret,
                             int *ret_errno, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int detached = -EBADF, fd = -EBADF;
        bool is_mount;
        uint64_t id;
        int r;

        /* A slave, not private: mounts here do not propagate to the host, but unmounts on the host propagate
         * here. Otherwise this copy would keep devices of other volumes busy during staging. */
        if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return -errno;
        if (tree < 0) {
                r = libmount_mount(spec, loop, ret_errno, f);
                if (r != 0)
                        return r;
        } else if (move_mount(tree, "", AT_FDCWD, spec->staging->directory, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return -errno;

        fd = open(spec->staging->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = mount_identify(fd, &id, &is_mount);
        if (r < 0)
                return r;
        if (!is_mount)
                return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s reported success, but nothing is mounted.",
                                   spec->source->name);
        r = read_back_mount(fd, "", &o);
        if (r < 0)
                return r;
        detached = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (detached < 0)
                return -errno;

        *ret_tree = TAKE_FD(detached);
        *ret = TAKE_STRUCT(o);
        return 0;
}

/* tree: a detached mount, or -EBADF to mount the source. */
static int stage_in_namespace(const StageSpec *spec, int tree, int *ret_tree, MountOutcome *ret, int *ret_errno,
                              Failure *f) {
        _cleanup_close_ int host = -EBADF, loop_fd = -EBADF;
        _cleanup_free_ char *loop = NULL;
        int r, k;

        /* The mount table of the host tells on which file system the images of other loop devices are. */
        if (tree < 0 && spec->source->is_image) {
                r = image_open_loop(spec->source, spec->staging->locks, spec->read_only, &loop_fd, &loop, f);
                if (r != 0)
                        return r;
        }
        /* Helpers such as mount.nfs(8) may need any file of the host. */
        r = stage_namespace_enter(
                tree < 0 && stage_uses_helper(spec->source->fs->name) ? -EBADF : spec->staging->namespace, &host);
        if (r < 0)
                return r;
        r = attach_and_detach(spec, loop, tree, ret_tree, ret, ret_errno, f);
        k = stage_namespace_leave(host);
        return k < 0 ? k : r;
}

/* If the detached mount does not show everything, it is attached in a namespace and read from the mount
 * table. */
static int stage_by_fs_context(const StageSpec *spec, bool exclusive, int *ret_tree, MountOutcome *ret,
                               int *ret_errno, Failure *f) {
        _cleanup_free_ char *source = NULL;
        _cleanup_close_ int tree = -EBADF;
        int r;

        r = fs_context_mount(spec, &exclusive, &tree, &source, ret_errno, f);
        if (r != 0)
                return r;
        r = read_back_detached(spec, tree, source, ret);
        if (r < 0)
                return r;
        if (r > 0)
                *ret_tree = TAKE_FD(tree);
        else {
                r = stage_in_namespace(spec, tree, ret_tree, ret, ret_errno, f);
                if (r != 0)
                        return r;
        }
        ret->exclusive = exclusive;
        return 0;
}

/* EINVAL has many reasons. If the second way succeeds, the kernel does not support the first way for this
 * mount; otherwise the first message is kept. */
static int stage_superblock(const StageSpec *spec, int *ret_tree, MountOutcome *ret, int *ret_errno, Failure *f) {
        _cleanup_failure_ Failure other = { 0 };
        int number = 0, r, k;

        if (!fs_context_takes(spec))
                return stage_in_namespace(spec, -EBADF, ret_tree, ret, ret_errno, f);
        r = stage_by_fs_context(spec, spec->alone, ret_tree, ret, ret_errno, f);
        if (r != FAILURE_MOUNT_FAILED || *ret_errno != EINVAL)
                return r;
        /* mount(2) would share a mounted superblock. */
        if (spec->alone && source_is_claimed(spec->source) != 0)
                return r;
        k = stage_in_namespace(spec, -EBADF, ret_tree, ret, &number, &other);
        if (k != 0)
                return k < 0 ? k : r;
        failure_done(f);
        return 0;
}

/* Whether the superblock is mounted read-write: such a superblock can't be mounted read-only, only the new
 * mount can. *ret_noted, unless NULL: whether the worker has noted one of its mounts. */
static int is_mounted_writable(const StageSpec *spec, bool *ret_noted) {
        bool noted = false, writable = false;
        MountFact *mounts;
        size_t n;
        int r;

        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && i < n; i++) {
                writable = writable || !mounts[i].superblock_read_only;
                if (!ret_noted)
                        continue;
                r = mount_note_find(mounts[i].mount_id, mounts[i].device, mounts[i].target, NULL);
                noted = noted || r > 0;
        }
        mount_facts_free(mounts, n);
        if (r < 0)
                return r;
        if (ret_noted)
                *ret_noted = noted;
        return writable;
}

/* The path may lead to another device by now. Returns 1 if the mount is of the source that was checked, 0 if
 * not, or a negative errno. */
static int is_of_source(const StageSpec *spec, int tree) {
        _cleanup_free_ char *found = NULL;
        _cleanup_close_ int root = -EBADF;
        struct stat st;
        int r;

        if (!spec->superblock)
                return 1;
        root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0 || fstat(root, &st) < 0)
                return -errno;
        /* st_dev of btrfs files is not the number of a disk. */
        r = superblock_name_mounted(root, streq(spec->source->fs->name, "btrfs") ? 0 : st.st_dev, &found);
        return r < 0 ? r : streq_ptr(spec->superblock, found);
}

/* Explains that the kernel does not mount a copy beside its original, or mounts the original again. Returns 0
 * if that is not the reason, MOUNT_FAILED or a negative errno. */
static int explain_copy(const StageSpec *spec, Failure *f) {
        const bool btrfs = streq(spec->source->fs->name, "btrfs");
        _cleanup_free_ char *target = NULL;
        int r;

        if (!btrfs && !streq(spec->source->fs->name, "xfs"))
                return 0;
        r = superblock_find_copy(spec->source, &target);
        if (r < 0 || !target)
                return r;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "%s has the UUID of the file system that is mounted at '%s', as a copy has, and this kernel does not mount both. %s",
                spec->source->name, target,
                btrfs ? "Give the copy another UUID while it is not mounted (btrfstune -m DEVICE, or -u), or boot Linux 6.7 or newer."
                      : "Pass the mount option nouuid, or give the copy another UUID while it is not mounted (xfs_admin -U generate DEVICE).");
}

/* Sets f if the superblock is mounted with another context, which the kernel's EINVAL does not tell. Returns
 * CONTEXT_CONFLICT, 0 if there is no such mount, or a negative errno. */
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
                "%s is mounted at '%s' %s%s, and a file system can have one context at a time: stop what uses it there, then unmount it.",
                spec->source->name, target, isempty(context) ? "without a context" : "with context ", context);
}

/* Explains a superblock that existed already and kept its context: btrfs may ignore a passed context without
 * an error. */
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

/* Compares the mount with spec. libmount drops the context if libselinux considers SELinux disabled. */
static int check_staged(const StageSpec *spec, const MountFact *fact, Failure *f) {
        if (!isempty(fact->context) && !streq(fact->context, spec->context))
                return shared_failure(spec, fact, f);
        if (!isempty(spec->context) && (fact->seclabel || isempty(fact->context)))
                return failure_set(f, FAILURE_CONTEXT_DROPPED,
                                   "The kernel mounted %s without the context %s; nothing was published.",
                                   spec->source->name, spec->context);
        if (!spec->read_only && fact->read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "%s could only be mounted read-only: ask for a read-only mount, or repair the file system or device.",
                        spec->source->name);
        return 0;
}

/* Replaces f if another mount is the reason for the kernel's EINVAL, EBUSY or EEXIST. Returns 0 if none is, a
 * negative errno, CONTEXT_CONFLICT, BUSY or MOUNT_FAILED. */
static int explain_refusal(const StageSpec *spec, int number, Failure *f) {
        _cleanup_free_ char *target = NULL;
        bool read_only = false;
        MountFact *mounts;
        size_t n;
        int r;

        if (number != EINVAL && number != EBUSY && number != EEXIST)
                return 0;
        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        r = find_conflict(spec, mounts, n, f);
        if (n > 0) {
                target = string_escape(mounts[0].target, 200);
                read_only = mounts[0].superblock_read_only && !spec->read_only;
        }
        mount_facts_free(mounts, n);
        if (r != 0)
                return r;
        if (n == 0)
                return number == EBUSY ? 0 : explain_copy(spec, f);
        if (!target)
                return -ENOMEM;
        if (spec->alone)
                return failure_set(f, FAILURE_BUSY, "%s was mounted at '%s' by somebody else meanwhile: try again.",
                                   spec->source->name, target);
        if (read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "%s is mounted read-only at '%s' and can't also be mounted read-write (%s): stop what uses it there, then unmount it.",
                        spec->source->name, target, strerrorname_np(number));
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "%s is mounted at '%s' with other options and can't also be mounted %s (%s): stop what uses it there, then unmount it.",
                spec->source->name, target, spec->read_only ? "read-only" : "read-write", strerrorname_np(number));
}

/* fspick(2) changes only this flag; mount(2) with MS_REMOUNT would reset the others. */
static int make_superblock_writable(const StageSpec *spec, int tree, Failure *f) {
        _cleanup_close_ int fs = -EBADF;
        int r;

        r = spec->check_others(spec, f);
        if (r != 0)
                return r;
        fs = fspick(tree, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
        if (fs >= 0 && fsconfig(fs, FSCONFIG_SET_FLAG, "rw", NULL, 0) >= 0 &&
            fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) >= 0)
                return 0;
        if (errno == ENOMEM)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED,
                           "%s is mounted read-only and can't be made writable (%s): unmount it everywhere first.",
                           spec->source->name, strerrorname_np(errno));
}

/* Whether the superblock is read-only because all who have it mounted only read, and the worker has noted one
 * of these mounts: a holder reads. Whoever else has mounted it read-only may rely on that. */
static int is_held_for_reading(const StageSpec *spec) {
        bool noted;
        int r;

        r = is_mounted_writable(spec, &noted);
        return r < 0 ? r : noted && !r;
}

/* After a child was killed, the kernel may not have released its mount of a btrfs yet. It then mounts that
 * superblock, which is on another loop device of the image: ESTALE. */
static int stage_of_source(const StageSpec *spec, int *ret_tree, MountOutcome *ret, int *ret_errno, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int tree = -EBADF;
        int r;

        r = stage_superblock(spec, &tree, &o, ret_errno, f);
        if (r != 0)
                return r;
        r = is_of_source(spec, tree);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret_errno = 0;
                r = explain_copy(spec, f);
                if (r != 0)
                        return r;
                *ret_errno = ESTALE;
                return failure_set(f, FAILURE_MOUNT_FAILED,
                                   "%s: another device was mounted than the one that was checked: try again.",
                                   spec->source->name);
        }
        *ret_tree = TAKE_FD(tree);
        *ret = TAKE_STRUCT(o);
        return 0;
}

/* Mounts a superblock once more that holders have mounted for reading, and makes it writable. Their mounts
 * stay read-only. Replaces f, which says that it is busy, unless others have it mounted. */
static int stage_beside_readers(const StageSpec *spec, int *ret_tree, MountOutcome *ret, int *ret_errno, Failure *f) {
        _cleanup_close_ int tree = -EBADF;
        StageSpec reader = *spec;
        int r;

        r = is_held_for_reading(spec);
        if (r <= 0)
                return r < 0 ? r : FAILURE_MOUNT_FAILED;
        failure_done(f);
        reader.read_only = true;
        r = stage_of_source(&reader, &tree, ret, ret_errno, f);
        if (r != 0)
                return r;
        /* The text of a failure stays: another mount is not the reason. */
        *ret_errno = 0;
        r = make_superblock_writable(spec, tree, f);
        if (r != 0)
                return r;
        ret->superblock_read_only = ret->fact.read_only = false;
        *ret_tree = TAKE_FD(tree);
        return 0;
}

int stage_mount(const StageSpec *spec, int *ret_tree, MountOutcome *ret, Failure *f) {
        enum { ATTEMPTS = 5, ATTEMPT_USEC = 20000 };
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        StageSpec superblock = *spec;
        _cleanup_close_ int tree = -EBADF;
        int number = 0, r, k;

        assert(spec && spec->source);
        assert(ret_tree && ret);

        if (spec->read_only) {
                r = is_mounted_writable(spec, NULL);
                if (r < 0)
                        return r;
                superblock.read_only = r == 0;
        }
        for (unsigned i = 1;; i++) {
                r = stage_of_source(&superblock, &tree, &o, &number, f);
                /* A superblock that is being released, or a device that is opened for a moment, also causes
                 * EBUSY: try again. */
                if (r != FAILURE_MOUNT_FAILED || !(number == ESTALE || (number == EBUSY && spec->alone)) ||
                    i == ATTEMPTS)
                        break;
                failure_done(f);
                usleep(ATTEMPT_USEC);
        }
        if (r == FAILURE_MOUNT_FAILED && number == EBUSY && !spec->read_only && !spec->alone)
                r = stage_beside_readers(spec, &tree, &o, &number, f);
        if (r < 0)
                return r;
        if (r > 0) {
                k = explain_refusal(spec, number, f);
                return k != 0 ? k : r;
        }

        r = check_staged(spec, &o.fact, f);
        if (r != 0)
                return r;
        r = attributes_set(tree, spec->options, spec->read_only);
        if (r < 0)
                return r;
        o.fact.read_only = o.fact.read_only || spec->read_only;

        *ret_tree = TAKE_FD(tree);
        *ret = TAKE_STRUCT(o);
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
                        "The mount at '%s' has context '%s', not '%s', and a file system can have one at a time: stop what uses it there, then unmount it.",
                        path, context, spec->context);
        return 0;
}

/* Mounts the superblock again: such a mount can be idmapped even if the shared mount is. Returns 1; 0 if that
 * fails or shows another directory, so the caller clones the mount; or a negative errno. */
static int mount_once_more(const StageSpec *spec, const Target *share, int *ret_tree, MountOutcome *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_close_ int tree = -EBADF;
        struct stat once_more, shared;
        int number = 0, r;

        if (spec->source->fs->source != SOURCE_BLOCK || spec->read_only || spec->swaps || !fs_context_takes(spec))
                return 0;
        r = stage_by_fs_context(spec, false, &tree, &o, &number, &f);
        if (r != 0)
                return r < 0 ? r : 0;
        if (fstat(tree, &once_more) < 0 || fstat(share->fd, &shared) < 0)
                return -errno;
        if (once_more.st_dev != shared.st_dev || once_more.st_ino != shared.st_ino ||
            !streq(o.fact.context, spec->context))
                return 0;
        r = is_of_source(spec, tree);
        if (r <= 0)
                return r;
        *ret_tree = TAKE_FD(tree);
        *ret = TAKE_STRUCT(o);
        return 1;
}

int stage_share(const StageSpec *spec, const Target *share, int *ret_tree, MountOutcome *ret, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int tree = -EBADF, clone = -EBADF;
        int number = 0, r;

        assert(spec && spec->source);
        assert(share);
        assert(ret_tree && ret);

        r = mount_once_more(spec, share, &tree, &o);
        if (r < 0)
                return r;
        if (r == 0) {
                clone = open_tree(share->fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
                if (clone < 0)
                        return -errno;
                r = stage_in_namespace(spec, clone, &tree, &o, &number, f);
                clone = fd_close(clone);
                if (r != 0)
                        return r;
                r = check_share(spec, share, &o.fact, f);
                if (r != 0)
                        return r;
        }
        if (!spec->read_only && o.superblock_read_only) {
                r = make_superblock_writable(spec, tree, f);
                if (r != 0)
                        return r;
                o.superblock_read_only = false;
        }
        r = attributes_set(tree, spec->options, spec->read_only);
        if (r < 0)
                return r;
        o.fact.read_only = spec->read_only || o.superblock_read_only;

        *ret_tree = TAKE_FD(tree);
        *ret = TAKE_STRUCT(o);
        return 0;
}

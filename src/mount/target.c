/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "basic/path-util.h"
#include "model/request.h"
#include "mount/denial.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"
#include "mount/target.h"

void target_done(Target *t) {
        free(t->path);
        t->fd = fd_close(t->fd);
        t->root_fd = fd_close(t->root_fd);
        *t = TARGET_INIT;
}

static int get_statx(int fd, struct statx *ret) {
        struct statx sx = { 0 };

        if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID,
                  &sx) < 0)
                return -errno;
        if (!(sx.stx_mask & STATX_MNT_ID))
                return -EOPNOTSUPP;
        *ret = sx;
        return 0;
}

/* Returns the innermost root if roots are nested. */
static const char *find_root(const Settings *settings, const char *path) {
        const char *best = NULL;

        STRV_FOREACH (root, settings->target_roots)
                if (path_is_beneath(path, *root) && (!best || strlen(*root) > strlen(best)))
                        best = *root;
        return best;
}

static int root_failure(Failure *f, const char *path, const Settings *settings, int error) {
        const char *root = find_root(settings, path);
        _cleanup_free_ char *real = error == -ELOOP ? realpath(root, NULL) : NULL,
                            *shown = real ? string_escape(real, 200) : strdup("another directory");

        if (!shown)
                return -ENOMEM;
        switch (error) {
        case -ENOENT:
                return failure_set(f, FAILURE_INVALID_TARGET,
                                   "The root %s of TargetRoots= does not exist: create the directory first.", root);
        case -ELOOP:
                return failure_set(
                        f, FAILURE_PATH_NOT_ALLOWED,
                        "The root %s of TargetRoots= leads to %s by a symbolic link: add TargetRoots=%s under [Worker] " SETTINGS_REMEDY
                        " Callers have to pass that path, too (kubelet: --root-dir with the directory above pods).",
                        root, shown, shown);
        case -ENOTDIR:
                return failure_set(f, FAILURE_INVALID_TARGET, "The root %s of TargetRoots= is not a directory.",
                                   root);
        case -EACCES:
                return denial_failure(DENIED_TARGET, -EBADF, root, root, f);
        default:
                return error;
        }
}

static int target_failure(Failure *f, const char *path, int error) {
        _cleanup_free_ char *escaped = string_escape(path, 200);

        if (!escaped)
                return -ENOMEM;
        switch (error) {
        case -ENOENT:
                return failure_set(f, FAILURE_INVALID_TARGET,
                                   "Target '%s' does not exist: create the directory first.", escaped);
        case -ELOOP:
                return failure_set(
                        f, FAILURE_INVALID_TARGET,
                        "Target '%s' is or goes through a symbolic link, which is never followed: pass the path it leads to.",
                        escaped);
        case -ENOTDIR:
                return failure_set(f, FAILURE_INVALID_TARGET, "Target '%s' is not a directory.", escaped);
        case -ENAMETOOLONG:
                return failure_set(f, FAILURE_INVALID_TARGET, "Target '%s' has a name that is too long.", escaped);
        case -EAGAIN:
        case -EXDEV:
                return failure_set(f, FAILURE_INVALID_TARGET,
                                   "Target '%s' is being moved by someone else: try again when that has ended.",
                                   escaped);
        default:
                return health_explain_errno(error, path, f);
        }
}

int target_denial(const Target *t, Failure *f) {
        _cleanup_free_ char *root = strndup(t->path, t->root_length);

        return root ? denial_failure(DENIED_TARGET, t->fd, t->path, root, f) : -ENOMEM;
}

int target_check_policy(const Target *t, Failure *f) {
        _cleanup_free_ char *root = strndup(t->path, t->root_length);

        return root ? denial_check_target(t->fd, t->path, root, f) : -ENOMEM;
}

/* Names the directory on the way to the target that can be opened, but not passed. */
static int way_denial(Target *t, Failure *f) {
        _cleanup_free_ char *root = strndup(t->path, t->root_length);

        if (!root)
                return -ENOMEM;
        for (char *end = strrchr(t->path, '/'); end > t->path + t->root_length; end = strrchr(t->path, '/')) {
                _cleanup_close_ int fd = -EBADF;

                *end = '\0';
                fd = open_beneath(t->root_fd, t->path + t->root_length + 1, O_PATH, 0);
                if (fd >= 0)
                        return denial_failure(DENIED_TARGET, fd, t->path, root, f);
        }
        return denial_failure(DENIED_TARGET, t->root_fd, root, root, f);
}

/* Opens the root. A negative errno other than -ENOMEM comes from opening the root. */
static int pin_root(const char *path, const Settings *settings, Target *t, Failure *f) {
        struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        const char *root;
        int r;

        r = target_validate(path, settings, f);
        if (r != 0)
                return r;
        root = find_root(settings, path);

        t->path = strdup(path);
        if (!t->path)
                return -ENOMEM;
        t->root_length = strlen(root);
        t->root_fd = (int) syscall(SYS_openat2, AT_FDCWD, root, &how, sizeof(how));
        return t->root_fd < 0 ? -errno : 0;
}

int target_open(const char *path, const Settings *settings, Target *ret, Failure *f) {
        _cleanup_(target_done) Target t = TARGET_INIT;
        struct statx sx = { 0 };
        int r;

        assert(path);
        assert(settings);
        assert(ret);

        r = pin_root(path, settings, &t, f);
        if (r < 0)
                return root_failure(f, path, settings, r);
        if (r > 0)
                return r;
        t.fd = open_beneath(t.root_fd, t.path + t.root_length + 1, O_PATH, 0);
        if (t.fd == -EACCES)
                return way_denial(&t, f);
        if (t.fd < 0)
                return target_failure(f, path, t.fd);
        r = get_statx(t.fd, &sx);
        if (r < 0)
                return target_failure(f, path, r);

        t.device = makedev(sx.stx_dev_major, sx.stx_dev_minor);
        t.inode = sx.stx_ino;
        t.mount_id = sx.stx_mnt_id;
        t.is_mount = sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
        t.is_directory = S_ISDIR(sx.stx_mode);

        *ret = t;
        t = TARGET_INIT;
        return 0;
}

static int mounted_failure(Failure *f, const Target *t) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        _cleanup_free_ char *path = string_escape(t->path, 200), *source = NULL;

        if (!path)
                return -ENOMEM;
        if (mount_table_read_own(t->fd, true, &table) < 0 || mount_table_find_id(table, t->mount_id, &fact) < 0)
                return failure_set(
                        f, FAILURE_INVALID_TARGET,
                        "Target '%s' is a mount already: unmount it first (umount TARGET), or adopt it (selvolctl adopt VOLUME TARGET).",
                        path);
        source = string_escape(fact.source, 200);
        if (!source)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INVALID_TARGET,
                "Target '%s' is a mount already, of %s, type %s: unmount it first (umount TARGET), or adopt it (selvolctl adopt VOLUME TARGET).",
                path, source, fact.fs_type);
}

int target_check_free(const Target *t, Failure *f) {
        if (t->is_mount)
                return mounted_failure(f, t);
        if (!t->is_directory)
                return target_failure(f, t->path, -ENOTDIR);
        return 0;
}

int target_open_mount(const char *path, const Settings *settings, Target *ret, Failure *f) {
        _cleanup_(target_done) Target t = TARGET_INIT;
        int r;

        r = target_open(path, settings, &t, f);
        if (r != 0)
                return r;
        if (!t.is_mount)
                return failure_set_about(f, FAILURE_INVALID_TARGET, path, "Nothing is mounted at target '%s'.");
        if (!t.is_directory)
                return target_failure(f, path, -ENOTDIR);

        *ret = t;
        t = TARGET_INIT;
        return 0;
}

int target_open_id(const char *path, uint64_t mount_id, const Settings *settings, Target *ret, Failure *f) {
        _cleanup_(target_done) Target t = TARGET_INIT;
        _cleanup_free_ char *escaped = NULL;
        int r;

        r = target_validate(path, settings, f);
        if (r != 0)
                return r;
        r = target_open(path, settings, &t, f);
        if (r != 0 && r != FAILURE_INVALID_TARGET)
                return r;
        if (r == 0 && t.is_mount && t.mount_id == mount_id) {
                *ret = t;
                t = TARGET_INIT;
                return 0;
        }

        escaped = string_escape(path, 200);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_BUSY, "Mount %llu at '%s' is gone or covered by another mount: try again.",
                           (unsigned long long) mount_id, escaped);
}

/* Looks the path up again. Returns 1, 0 if the path leads nowhere, or a negative errno. */
static int target_look_again(const Target *t, struct statx *ret) {
        _cleanup_close_ int fd = open_beneath(t->root_fd, t->path + t->root_length + 1, O_PATH, 0);
        int r;

        if (fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR || fd == -EXDEV)
                return 0;
        if (fd < 0)
                return fd;
        r = get_statx(fd, ret);
        return r < 0 ? r : 1;
}

int target_is_unchanged(const Target *t) {
        struct statx sx = { 0 };
        int r = target_look_again(t, &sx);

        if (r <= 0)
                return r;
        return sx.stx_mnt_id == t->mount_id && sx.stx_ino == t->inode &&
               makedev(sx.stx_dev_major, sx.stx_dev_minor) == t->device &&
               !(sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) == !t->is_mount;
}

int target_leads_to(const Target *t, uint64_t mount_id) {
        struct statx sx = { 0 };
        int r = target_look_again(t, &sx);

        return r <= 0 ? r : sx.stx_mnt_id == mount_id && sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int target_open_parent(const char *path, const Settings *settings, int *ret_fd, const char **ret_name, Failure *f) {
        _cleanup_(target_done) Target t = TARGET_INIT;
        _cleanup_free_ char *relative = NULL;
        const char *name, *beneath;
        int fd, r;

        assert(path);
        assert(settings);
        assert(ret_fd && ret_name);

        r = pin_root(path, settings, &t, f);
        if (r == -ENOENT || r > 0)
                return r;
        if (r < 0)
                return root_failure(f, path, settings, r);

        name = strrchr(path, '/') + 1;
        beneath = path + t.root_length + 1;
        if (name == beneath)
                fd = TAKE_FD(t.root_fd);
        else {
                relative = strndup(beneath, (size_t) (name - 1 - beneath));
                if (!relative)
                        return -ENOMEM;
                fd = open_beneath(t.root_fd, relative, O_PATH | O_DIRECTORY, 0);
        }
        if (fd == -ENOENT)
                return fd;
        if (fd < 0)
                return target_failure(f, path, fd);

        *ret_fd = fd;
        *ret_name = name;
        return 0;
}

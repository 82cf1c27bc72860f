/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <libmount.h>

#include "mount/mountinfo.h"
#include "mount/stage-namespace.h"

DEFINE_CLEANUP_FUNC(struct libmnt_context *, mnt_free_context);

/* Needed for devices, loop devices, the staging directory, the mount table, and helpers of libmount. */
static const char *const kept[] = { "dev", "proc", "run", "sys", "usr" };

static int clone_mount(int parent, const char *path) {
        int tree =
                open_tree(parent, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);

        return tree < 0 ? -errno : tree;
}

static int keep_mount(int host_root, int root, const char *name) {
        _cleanup_close_ int fd = -EBADF, tree = -EBADF;
        bool is_mount;
        uint64_t id;
        int r;

        fd = openat(host_root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        r = mount_identify(fd, &id, &is_mount);
        if (r < 0)
                return r;
        if (!is_mount)
                return 0;
        tree = clone_mount(host_root, name);
        if (tree < 0)
                return tree;
        return move_mount(tree, "", root, name, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Builds the namespace from a copy of the host's, and drops all other mounts. */
static int build_namespace(const char *directory) {
        _cleanup_close_ int host_root = -EBADF, root = -EBADF;

        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (host_root < 0)
                return -errno;
        root = clone_mount(AT_FDCWD, "/");
        if (root < 0)
                return root;
        if (move_mount(root, "", AT_FDCWD, directory, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(kept); i++) {
                int r = keep_mount(host_root, root, kept[i]);

                if (r < 0)
                        return r;
        }
        /* After pivot_root(2) the old root is on top of the new one. */
        if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
                return -errno;
        return chdir("/") < 0 ? -errno : 0;
}

/* The child process keeps the namespace until the parent has opened it. */
static _Noreturn void run_builder(const char *directory, int fd, pid_t parent) {
        int r;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        r = unshare(CLONE_NEWNS) < 0 ? -errno : build_namespace(directory);
        if (write(fd, &r, sizeof(r)) == sizeof(r))
                (void) pause();
        _exit(EXIT_FAILURE);
}

static int open_built(pid_t pid, int fd) {
        char path[64];
        int built, r;

        if (read(fd, &built, sizeof(built)) != sizeof(built))
                return -ECHILD;
        if (built < 0)
                return built;
        (void) snprintf(path, sizeof(path), "/proc/%i/ns/mnt", (int) pid);
        r = open(path, O_RDONLY | O_CLOEXEC);
        return r < 0 ? -errno : r;
}

int stage_namespace_make(const char *directory, int *ret) {
        pid_t parent = getpid(), pid;
        int pipe[2], r;

        assert(directory);
        assert(ret);

        if (pipe2(pipe, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                run_builder(directory, pipe[1], parent);
        r = pid < 0 ? -errno : 0;
        close(pipe[1]);
        if (r >= 0) {
                r = open_built(pid, pipe[0]);
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0);
        }
        close(pipe[0]);
        if (r < 0)
                return r;
        *ret = r;
        return 0;
}

int stage_namespace_enter(int namespace, int *ret_host) {
        _cleanup_close_ int host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

        if (host < 0)
                return -errno;
        if (namespace >= 0 && setns(namespace, CLONE_NEWNS) < 0)
                return -errno;
        if (unshare(CLONE_NEWNS) < 0)
                return -errno;
        *ret_host = TAKE_FD(host);
        return 0;
}

int stage_namespace_leave(int host) {
        return setns(host, CLONE_NEWNS) < 0 ? -errno : 0;
}

/* Quotes the context: the kernel would take "c2" of an unquoted "c1,c2" for an option. The context contains
 * neither quotes nor backslashes, as context_canonicalize() has checked. */
static int build_options(const StageSpec *spec, char **ret) {
        const char *const own[] = { "nosuid", "nodev", spec->read_only ? "ro" : "rw" };
        _cleanup_strv_ char **options = NULL;
        int r;

        r = stage_spec_options(spec, &options);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(own); i++) {
                r = strv_extend(&options, own[i]);
                if (r < 0)
                        return r;
        }
        if (!isempty(spec->context)) {
                r = strv_consume(&options, strdup_printf("context=\"%s\"", spec->context));
                if (r < 0)
                        return r;
        }

        *ret = strv_join(options, ",");
        return *ret ? 0 : -ENOMEM;
}

static int mount_failure(const StageSpec *spec, struct libmnt_context *context, int status, int *ret_errno,
                         Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        char text[EXPLANATION_MAX] = "";

        (void) mnt_context_get_excode(context, status, text, sizeof(text));
        if (isempty(text))
                (void) snprintf(text, sizeof(text), "no explanation");
        if (!mnt_context_helper_executed(context)) {
                *ret_errno = mnt_context_syscall_called(context) ? mnt_context_get_syscall_errno(context) : -status;
                return stage_spec_failure(spec, text, *ret_errno, f);
        }
        *ret_errno = 0;
        escaped = string_escape(text, EXPLANATION_MAX);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED,
                           "Mounting %s by mount.%s failed with status %i: %s. See the journal for its output.",
                           spec->source->name, spec->source->fs->name, mnt_context_get_helper_status(context),
                           escaped);
}

int libmount_mount(const StageSpec *spec, const char *loop, int *ret_errno, Failure *f) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = mnt_new_context();
        _cleanup_free_ char *options = NULL;
        int r;

        assert(spec && spec->source);
        assert(ret_errno);

        if (!context)
                return -ENOMEM;
        r = build_options(spec, &options);
        if (r < 0)
                return r;
        r = mnt_context_set_optsmode(context, MNT_OMODE_NOTAB)
                ?: mnt_context_disable_mtab(context, 1)
                /* A read-only device is an error, not a read-only mount. */
                ?: mnt_context_enable_rwonly_mount(context, !spec->read_only)
                ?: mnt_context_set_source(context, loop ?: spec->source->path)
                ?: mnt_context_set_target(context, spec->staging->directory)
                ?: mnt_context_set_fstype(context, spec->source->fs->name)
                ?: mnt_context_set_options(context, options);
        if (r < 0)
                return r;

        r = mnt_context_mount(context);
        if (r != 0 || mnt_context_get_status(context) != 1)
                return mount_failure(spec, context, r, ret_errno, f);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "mount/stage-namespace.h"
#include "mount/statmount.h"

/* Devices, loop devices, the staging directory, the mount table, and the helpers of libmount. */
static const char *const kept[] = { "dev", "proc", "run", "sys", "usr" };

static int clone_mount(int parent, const char *path) {
        int tree =
                open_tree(parent, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);

        return tree < 0 ? -errno : tree;
}

static int keep(int host_root, int root, const char *name) {
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

/* In a copy of the host's namespace, of which everything else is dropped. */
static int build(const char *directory) {
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
                int r = keep(host_root, root, kept[i]);

                if (r < 0)
                        return r;
        }
        /* The old root is on top of the new one then, pivot_root(2). */
        if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
                return -errno;
        return chdir("/") < 0 ? -errno : 0;
}

/* Keeps the namespace until the parent has opened it. */
static _Noreturn void run_builder(const char *directory, int fd, pid_t parent) {
        int r;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        r = unshare(CLONE_NEWNS) < 0 ? -errno : build(directory);
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
